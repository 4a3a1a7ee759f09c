package promotion

import (
	"encoding/json"
	"path"
	"testing"

	"agent/sandbox/workspace"
)

// FuzzJournal reads arbitrary text as a plan, signed and as earlier versions wrote it. An accepted plan names no path
// that a changeset could not, and nothing is accepted without the signature.
func FuzzJournal(f *testing.F) {
	const id = "run-1"
	plan, err := json.Marshal(&journal{ID: id, Root: "/w", Items: []item{
		{Path: "f", Slot: "s/0", Before: &fileMeta{Digest: "d", Mode: 0o644}, After: &fileMeta{Digest: "e", Mode: 0o755}},
		{Path: "d/g", Slot: "d/" + workspace.SlotPrefix + id + "-1", After: &fileMeta{Digest: "e"}},
	}, Make: []string{"d"}, Clear: []dirMeta{{Path: "c"}}, Remove: []dirMeta{{Path: "r"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plan)
	f.Add([]byte(`{"id":"run-1","items":[{"path":"../x","slot":"s/0","after":{}}]}`))
	f.Add([]byte(`{"id":"run-1","items":[{"path":"x","slot":"../s/0","after":{}}]}`))
	f.Add([]byte(`{"id":"run-1","items":[null],"make":[".git/hooks"]}`))
	f.Add([]byte(`null`))
	key := []byte("key")
	f.Fuzz(func(t *testing.T, text []byte) {
		unsigned := &journal{ID: id, key: key, place: "1-" + pathHash("/w") + "/" + id, stage: "s"}
		if unsigned.decode(text) == nil {
			t.Fatalf("%q is carried out without a signature", text)
		}
		signed := &journal{ID: id, key: key, place: unsigned.place, stage: "s"}
		if signed.decode([]byte(sign(key, text)+"\n"+string(text))) == nil && signed.Root != "/w" {
			t.Errorf("the plan of %q is carried out in /w", signed.Root)
		}
		old := &journal{ID: id, old: true, stage: "s"}
		if old.decode(text) != nil {
			return
		}
		for i, it := range old.Items {
			if workspace.CheckPath(it.Path) != nil || it.Slot != old.slot(i) && workspace.CheckPath(path.Join(path.Dir(it.Slot), "x")) != nil {
				t.Errorf("item %d is %+v", i, it)
			}
		}
		for _, name := range old.Make {
			if err := workspace.CheckPath(name); err != nil {
				t.Error(err)
			}
		}
	})
}
