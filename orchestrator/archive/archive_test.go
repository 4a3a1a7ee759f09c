package archive_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"

	"agent/orchestrator/archive"
	"agent/orchestrator/replay"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
	"agent/verify"
)

// A record is evidence together with its contents.
type record struct {
	replay.Evidence
	contents map[string][]byte
	key      *archive.Key
}

func (r record) content(digest string) ([]byte, error) {
	if data, ok := r.contents[digest]; ok {
		return data, nil
	}
	return nil, errors.New("not there")
}

// keep adds a content and returns its digest.
func (r record) keep(data string) string {
	r.contents[workspace.Digest([]byte(data))] = []byte(data)
	return workspace.Digest([]byte(data))
}

// newRecord returns the record of a promoted run in a small workspace.
func newRecord(t testing.TB) record {
	t.Helper()
	r := record{contents: map[string][]byte{}}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.py"), []byte("x = 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := workspace.Scan(t.Context(), dir, nil, workspace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := m.Inventory()
	if err != nil {
		t.Fatal(err)
	}
	if r.key, err = archive.LoadKey(filepath.Join(t.TempDir(), "config", "attest.key")); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	r.Evidence = replay.Evidence{
		Run: "1k3aaaaaaaaa", Workspace: "/home/me/shop", Intent: "patch p.xml", State: run.Promoted, Verdict: verify.Pass, Started: at, Ended: at.Add(time.Second),
		Approved: "--yes", Snapshot: m.Digest(), Inventory: r.keep(string(text)), Settings: run.Settings{Toolchain: "sha256:tools", Definitions: "10", Versions: map[string]string{"ruff": "0.16"}},
		Candidates: []replay.Exhibit{{
			Verdict: verify.Pass, Gates: []verify.Gate{{Name: "lint", Verdict: verify.Pass}}, Digest: "d", Response: r.keep("<EDIT>"), Asked: "d",
			Files: []replay.ExhibitFile{{Op: workspace.Modify, Path: "a.py", Mode: 0o644, Before: r.keep("x = 1\n"), After: r.keep("x = 2\n")}},
		}},
		Exchanges: []replay.Exchange{{Step: "propose/1", Model: "a/b", Question: json.RawMessage(`{"system":"s"}`), Answer: []byte("<EDIT>\xff")}},
	}
	return r
}

// write returns the archive of r.
func (r record) write(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := archive.Write(t.Context(), &out, r.Evidence, r.content, r.key); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// open reads an archive.
func open(t *testing.T, data []byte) (*archive.Archive, error) {
	t.Helper()
	return archive.Open(t.Context(), bytes.NewReader(data), int64(len(data)))
}

// parts takes an archive apart.
func parts(t *testing.T, data []byte) (names []string, contents map[string]string) {
	t.Helper()
	contents = map[string]string{}
	in := tar.NewReader(bytes.NewReader(data))
	for {
		h, err := in.Next()
		if err == io.EOF {
			return names, contents
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		names, contents[h.Name] = append(names, h.Name), string(text)
	}
}

func TestAnArchiveHoldsTheRunAndIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	r := newRecord(t)
	data := r.write(t)
	if !bytes.Equal(data, r.write(t)) {
		t.Error("the same record gives other bytes")
	}
	a, err := open(t, data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.Evidence, a.Evidence); diff != "" {
		t.Errorf("the evidence (-want +got):\n%s", diff)
	}
	for digest, want := range r.contents {
		if got, err := a.Content(digest); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is %q, %v", digest, got, err)
		}
	}
	if id, err := r.key.KeyID(); err != nil || a.Fingerprint != id || !strings.HasPrefix(id, "SHA256:") {
		t.Errorf("the key is %q, want %q (%v)", a.Fingerprint, id, err)
	}
	// The statement, as any program reads it.
	_, in := parts(t, data)
	var envelope struct{ Payload string }
	if err := json.Unmarshal([]byte(in["attestation.json"]), &envelope); err != nil {
		t.Fatal(err)
	}
	payload, err := base64.StdEncoding.DecodeString(envelope.Payload)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"manifest.json","digest":{"sha256":"` + workspace.Digest([]byte(in["manifest.json"])) + `"}},` +
		`{"name":"a.py","digest":{"sha256":"` + workspace.Digest([]byte("x = 2\n")) + `"}}],"predicateType":"https://slsa.dev/verification_summary/v1","predicate":{`
	if !strings.HasPrefix(string(payload), want) || !strings.Contains(string(payload), `"verificationResult":"PASSED","verifiedLevels":["AGENT_LINT"]`) {
		t.Errorf("the statement is\n%s\nwant\n%s", payload, want)
	}
}

// A flipped bit in any byte is found: in headers, parts, padding and the end.
func TestAChangedBitIsFound(t *testing.T) {
	t.Parallel()
	data := newRecord(t).write(t)
	for at := range data {
		// In the long texts every third byte is tried; in the encoded data at the end, every byte.
		if at%3 != 0 && at < len(data)-6*512 {
			continue
		}
		changed := bytes.Clone(data)
		changed[at] ^= 1 << (at % 8)
		a, err := open(t, changed)
		var damaged *archive.DamagedError
		if !errors.As(err, &damaged) {
			t.Fatalf("bit %d of byte %d of %d is another, and the archive is %+v, %v", at%8, at, len(data), a, err)
		}
	}
	// Every bit at the end of the signature and of the key is tried too, because base64 has spare bits there.
	_, in := parts(t, data)
	for _, text := range []string{in["key.pub"], in["attestation.json"]} {
		start := bytes.Index(data, []byte(text))
		for at := start + len(text) - 60; at < start+len(text); at++ {
			for bit := range 8 {
				changed := bytes.Clone(data)
				changed[at] ^= 1 << bit
				if _, err := open(t, changed); err == nil {
					t.Fatalf("bit %d of %q is not missed", bit, data[at])
				}
			}
		}
	}
	for _, n := range []int{0, 1, 511, 512, len(data) / 2, len(data) - 1024, len(data) - 1} {
		if _, err := open(t, data[:n]); err == nil {
			t.Errorf("cut to %d bytes it is still whole", n)
		}
	}
	for _, more := range []string{"\x00", "x", string(make([]byte, 512)), string(data)} {
		if _, err := open(t, append(bytes.Clone(data), more...)); err == nil {
			t.Errorf("%d more bytes are not missed", len(more))
		}
	}
}

// Someone who changes a verdict can make every digest match, but not the signature.
func TestAChangedVerdictIsFoundByTheSignature(t *testing.T) {
	t.Parallel()
	r := newRecord(t)
	data := r.write(t)
	r.Verdict, r.Candidates[0].Verdict = verify.Fail, verify.Fail
	forged := r.write(t)
	names, old := parts(t, data)
	_, in := parts(t, forged)
	in["attestation.json"] = old["attestation.json"]
	if _, err := open(t, pack(t, names, in)); err == nil || !strings.Contains(err.Error(), "it is about another manifest.json") {
		t.Errorf("a changed verdict gives %v", err)
	}
	// With a key of their own everything matches except the fingerprint.
	another, err := archive.LoadKey(filepath.Join(t.TempDir(), "attest.key"))
	if err != nil {
		t.Fatal(err)
	}
	mine, err := r.key.KeyID()
	if err != nil {
		t.Fatal(err)
	}
	r.key = another
	if a, err := open(t, r.write(t)); err != nil || a.Fingerprint == mine {
		t.Errorf("signed by another it is %+v, %v", a, err)
	}
	_, forgedByKey := parts(t, r.write(t))
	in["key.pub"] = forgedByKey["key.pub"]
	if _, err := open(t, pack(t, names, in)); err == nil || !strings.Contains(err.Error(), "not made by that key") {
		t.Errorf("another key gives %v", err)
	}
}

// pack makes an archive of arbitrary parts.
func pack(t *testing.T, names []string, contents map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range names {
		h := &tar.Header{Typeflag: tar.TypeReg, Format: tar.FormatUSTAR, Name: name, Size: int64(len(contents[name])), Mode: 0o644}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, contents[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A malicious archive is refused with a reason, quickly and in no more memory than it has bytes.
func TestAHostileArchiveIsRefused(t *testing.T) {
	t.Parallel()
	names, in := parts(t, newRecord(t).write(t))
	header := func(h tar.Header) []byte {
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		return append(out.Bytes(), make([]byte, 1024)...)
	}
	with := func(name, text string) map[string]string {
		changed := map[string]string{name: text}
		for n, old := range in {
			if n != name {
				changed[n] = old
			}
		}
		return changed
	}
	for want, data := range map[string][]byte{
		`"link" is not a plain file`:           header(tar.Header{Typeflag: tar.TypeSymlink, Name: "link", Linkname: "/etc/passwd", Format: tar.FormatUSTAR}),
		`"hard" is not a plain file`:           header(tar.Header{Typeflag: tar.TypeLink, Name: "hard", Linkname: "/etc/passwd", Format: tar.FormatUSTAR}),
		`"dir/" is not a plain file`:           header(tar.Header{Typeflag: tar.TypeDir, Name: "dir/", Format: tar.FormatUSTAR}),
		`"huge" is not a plain file`:           header(tar.Header{Typeflag: tar.TypeReg, Name: "huge", Size: 8<<30 - 1, Format: tar.FormatUSTAR}),
		`"vast" is not a plain file`:           header(tar.Header{Typeflag: tar.TypeReg, Name: "vast", Size: 1 << 60, Format: tar.FormatPAX}),
		"differ from those that were written":  header(tar.Header{Typeflag: tar.TypeReg, Name: "run.json", Mode: 0o4755, Format: tar.FormatUSTAR}),
		`"run.json" occurs twice`:              pack(t, append([]string{"run.json"}, names...), in),
		"or their order":                       pack(t, append([]string{"../../escape"}, names...), with("../../escape", "x")),
		"the manifest lists different parts":   pack(t, append(append([]string{}, names[:2]...), append([]string{"/etc/cron.d/x"}, names[2:]...)...), with("/etc/cron.d/x", "x")),
		"run.json does not match the manifest": pack(t, names, with("run.json", strings.Replace(in["run.json"], "1k3", "1k4", 1))),
		"read it with the agent that wrote":    pack(t, names, with("manifest.json", `{"format":2}`)),
		"unexpected end of JSON input":         pack(t, names, with("exchanges.json", "[")),
		"the public key is not PEM":            pack(t, names, with("key.pub", "")),
		"is not in its canonical form":         pack(t, names, with("attestation.json", " "+in["attestation.json"])),
	} {
		_, err := open(t, data)
		var damaged *archive.DamagedError
		if !errors.As(err, &damaged) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if _, err := archive.Open(t.Context(), bytes.NewReader(nil), 1<<40); err == nil || !strings.Contains(err.Error(), "exceed the maximum size") {
		t.Errorf("a terabyte gives %v", err)
	}
}

// The statement has one form. One that is signed with the same key but says something else about the run is refused, and so is a
// signature that does not name its key.
func TestTheStatementIsBoundToTheRun(t *testing.T) {
	t.Parallel()
	r := newRecord(t)
	names, in := parts(t, r.write(t))
	whole := in["attestation.json"]
	id, err := r.key.KeyID()
	if err != nil {
		t.Fatal(err)
	}
	in["attestation.json"] = strings.Replace(whole, `"keyid":"`+id+`"`, `"keyid":""`, 1)
	if _, err := open(t, pack(t, names, in)); err == nil || !strings.Contains(err.Error(), "names another key") {
		t.Errorf("a signature of no named key gives %v", err)
	}
	var envelope struct{ Payload []byte }
	if err := json.Unmarshal([]byte(whole), &envelope); err != nil {
		t.Fatal(err)
	}
	signer, err := dsse.NewEnvelopeSigner(r.key)
	if err != nil {
		t.Fatal(err)
	}
	for old, changed := range map[string]string{"AGENT_LINT": "AGENT_TESTS", `"name":"a.py"`: `"name":"b.py"`, "2026-11-22": "2027-11-22", "PASSED": "FAILED"} {
		payload := bytes.Replace(envelope.Payload, []byte(old), []byte(changed), 1)
		other, err := signer.SignPayload(t.Context(), "application/vnd.in-toto+json", payload)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(other)
		if err != nil {
			t.Fatal(err)
		}
		in["attestation.json"] = string(text)
		if _, err := open(t, pack(t, names, in)); bytes.Equal(payload, envelope.Payload) || err == nil || !strings.Contains(err.Error(), "does not match the archive") {
			t.Errorf("%s in place of %s gives %v", changed, old, err)
		}
	}
}

// An archive that no reader would accept is not signed, and a cancelled caller does not have to wait.
func TestAnArchiveKeepsTheBoundsOfItsReaders(t *testing.T) {
	t.Parallel()
	r := newRecord(t)
	large := make([]byte, 64<<20+1)
	inventory := r.contents[r.Inventory]
	content := func(size int) func(string) ([]byte, error) {
		return func(d string) ([]byte, error) {
			if d == r.Inventory {
				return inventory, nil
			}
			return large[:size], nil
		}
	}
	if err := archive.Write(t.Context(), io.Discard, r.Evidence, content(len(large)), r.key); err == nil || !strings.Contains(err.Error(), "more than the limit of 64 MiB for a part") {
		t.Errorf("a large part gives %v", err)
	}
	for i := range 16 {
		r.Candidates = append(r.Candidates, replay.Exhibit{Response: strings.Repeat(string(rune('a'+i)), 64)})
	}
	if err := archive.Write(t.Context(), io.Discard, r.Evidence, content(64<<20), r.key); err == nil || !strings.Contains(err.Error(), "exceeds the limit of 1024 MiB") {
		t.Errorf("many parts give %v", err)
	}
	r = newRecord(t)
	data := r.write(t)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := archive.Write(gone, io.Discard, r.Evidence, r.content, r.key); !errors.Is(err, context.Canceled) {
		t.Errorf("writing for nobody gives %v", err)
	}
	if _, err := archive.Open(gone, bytes.NewReader(data), int64(len(data))); !errors.Is(err, context.Canceled) {
		t.Errorf("reading for nobody gives %v", err)
	}
	// The same bound holds for an archive that another program wrote.
	names, in := parts(t, data)
	in["run.json"] = string(large)
	if _, err := open(t, pack(t, names, in)); err == nil || !strings.Contains(err.Error(), "MiB for a part") {
		t.Errorf("a large part is read: %v", err)
	}
}

// If the record lacks a content, Write fails instead of leaving the content out.
func TestAnArchiveIsNotWrittenWithoutItsContents(t *testing.T) {
	t.Parallel()
	r := newRecord(t)
	delete(r.contents, workspace.Digest([]byte("x = 2\n")))
	if err := archive.Write(t.Context(), io.Discard, r.Evidence, r.content, r.key); err == nil || !strings.Contains(err.Error(), "not there") {
		t.Errorf("got %v", err)
	}
}
