package images

import (
	"strings"
	"testing"
)

func TestEquipmentIsFoundByWhatItIsMadeOf(t *testing.T) {
	t.Parallel()
	on := Image{ID: "sha256:tools", Ref: "agent-toolchain:1", Versions: map[string]string{"node": "20"}, Installed: "deps"}
	q := Equipment{NPM: []string{"a@1.0.0"}, Debian: []string{"jq"}, Bin: map[string]string{"a": "a-ARCH/a"}}
	digest, err := equipDigest(on, q, "https://registry.example.org")
	if err != nil {
		t.Fatal(err)
	}
	e := labelled{images: map[string]map[string]string{"agent-equip:" + digest[:12]: {labelEquipment: digest}}}
	img := Image{Ref: "agent-equip:" + digest[:12]}
	if ok, err := New(e, nil, nil).findLabelled(t.Context(), &img, labelEquipment, digest); !ok || err != nil || img.ID == "" {
		t.Errorf("not found: %+v, %v", img, err)
	}
	// The beginning of a digest is not enough.
	if ok, err := New(e, nil, nil).findLabelled(t.Context(), &img, labelEquipment, digest[:12]+strings.Repeat("0", 52)); ok || err != nil {
		t.Errorf("another one was found, %v", err)
	}
	for name, change := range map[string]func(*Image, *Equipment, *string){
		"the image":    func(i *Image, _ *Equipment, _ *string) { i.ID = "sha256:others" },
		"a version":    func(_ *Image, q *Equipment, _ *string) { q.NPM = []string{"a@1.0.1"} },
		"a package":    func(_ *Image, q *Equipment, _ *string) { q.Debian = nil },
		"a link":       func(_ *Image, q *Equipment, _ *string) { q.Bin = map[string]string{"a": "b"} },
		"the registry": func(_ *Image, _ *Equipment, r *string) { *r = "https://other.example.org" },
	} {
		i, other, registry := on, q, "https://registry.example.org"
		change(&i, &other, &registry)
		if got, err := equipDigest(i, other, registry); err != nil || got == digest {
			t.Errorf("%s changes nothing, %v", name, err)
		}
	}
}

func TestNoEquipmentIsTheImageItself(t *testing.T) {
	t.Parallel()
	on := Image{ID: "sha256:tools", Ref: "agent-toolchain:1"}
	got, err := New(nil, nil, nil).Equip(t.Context(), on, Equipment{Bin: map[string]string{"a": "b"}})
	if err != nil || got.ID != on.ID || got.Ref != on.Ref {
		t.Errorf("%+v, %v", got, err)
	}
}

// Equipment is removed once no snapshot is based on it, as dependencies are.
func TestEquipmentThatNobodyUsesIsPruned(t *testing.T) {
	t.Parallel()
	old := "2020-01-01T00:00:00Z"
	e := labelled{images: map[string]map[string]string{
		"used": {labelEquipment: "one", labelTaken: old}, "shot": {labelEquipment: "one", labelTaken: old, labelSnapshot: "x"},
		"old": {labelEquipment: "two", labelTaken: old},
	}}
	gone, err := New(e, nil, nil).pruneUnused(t.Context(), labelEquipment)
	if err != nil || len(gone) != 1 || gone[0] != "old" || len(e.images) != 2 {
		t.Errorf("%q are gone, %v; left %v", gone, err, e.images)
	}
}
