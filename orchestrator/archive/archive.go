package archive

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"agent/orchestrator/replay"
	"agent/sandbox/workspace"
)

// format is that of manifest.json; readers refuse others.
// It rises with any change of what the parts mean, or of how they are written: one that an
// older reader would take for damage has to be told as another format.
const format = 1

// The names in an archive, beside those of blobs.
const (
	// The first two come in this order, then the blobs by digest, then the last three. Each of
	// those is written of what is before it: the manifest of the parts, the attestation of the
	// manifest.
	runName       = "run.json"
	exchangesName = "exchanges.json"
	blobs         = "blobs/"
	manifestName  = "manifest.json"
	attestedName  = "attestation.json"
	keyName       = "key.pub"
)

// The bounds of what is read, in bytes: of a file, and of what of it is held in memory at
// once.
const (
	// Whoever sends an archive chooses these sizes; without a bound it would choose how much
	// memory and time the reader spends before it has seen a signature.
	maxArchive = 1 << 30
	maxPart    = 64 << 20
)

// A manifest lists what is signed.
// It names itself, the attestation and the key nowhere: the attestation holds its digest,
// and the key proves itself by the signature.
type manifest struct {
	Format int    `json:"format"`
	Run    string `json:"run"`
	Parts  []part `json:"parts"`
}

// A part is one file of an archive.
// Two are the same part when all three fields are equal, for which see Open.
type part struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// header is that of a part: nothing in it is left to chance.
// There are no times, owners and modes of the machine in it. The ustar form has no place
// for a name or a size of another form either, so that there is one header for a part.
func (p part) header() *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Format: tar.FormatUSTAR, Name: p.Name, Size: p.Size, Mode: 0o644}
}

// tooLarge is the error of a part that no reader takes.
func (p part) tooLarge() error {
	if p.Size > maxPart {
		return fmt.Errorf("%s has %d bytes, more than the %d MiB that a part may have", p.Name, p.Size, maxPart>>20)
	}
	return nil
}

// A bounded writer takes as much as a reader of archives does: what is more would be signed, and be
// damage to everybody else.
type bounded struct {
	io.Writer
	room int64
}

// Write passes p on while there is room.
func (b *bounded) Write(p []byte) (int, error) {
	if b.room -= int64(len(p)); b.room < 0 {
		return 0, fmt.Errorf("the archive has more than the %d MiB that one may have", maxArchive>>20)
	}
	return b.Writer.Write(p)
}

// Write writes the archive of a run. content gives what the evidence names.
// An error of content is wrapped with the digest; what was written to w before any error is
// no archive, and the caller throws it away. content is asked for each digest once, the
// inventory's twice, and its bytes are not compared with the digest here: Open finds it.
func Write(ctx context.Context, w io.Writer, e replay.Evidence, content func(digest string) ([]byte, error), key *Key) error {
	names, err := contentsOf(e, content)
	if err != nil {
		return err
	}
	sized := &bounded{Writer: w, room: maxArchive}
	t, m := tar.NewWriter(sized), manifest{Format: format, Run: e.Run}
	add := func(name string, data []byte) error {
		p := part{name, int64(len(data)), workspace.Digest(data)}
		m.Parts = append(m.Parts, p)
		if err := cmp.Or(ctx.Err(), p.tooLarge()); err != nil {
			return err
		}
		if err := t.WriteHeader(p.header()); err != nil {
			return err
		}
		_, err := t.Write(data)
		return err
	}
	// What models were asked is by far the largest part of the evidence, and a replay needs of
	// it only the steps: so it is apart. e is a copy, and the caller's stays whole.
	exchanges := e.Exchanges
	e.Exchanges = nil
	if err := errors.Join(addJSON(add, runName, e), addJSON(add, exchangesName, exchanges)); err != nil {
		return err
	}
	for _, digest := range names {
		data, err := content(digest)
		if err == nil {
			err = add(blobs+digest, data)
		}
		if err != nil {
			return fmt.Errorf("content %s: %w", digest, err)
		}
	}
	if err := addJSON(add, manifestName, m); err != nil {
		return err
	}
	// add has noted the manifest as the last part; the list was encoded before that.
	payload, err := statement(e, m.Parts[len(m.Parts)-1].SHA256)
	if err != nil {
		return err
	}
	envelope, err := sign(ctx, payload, key)
	if err != nil {
		return err
	}
	public, err := key.PEM()
	return errors.Join(err, add(attestedName, envelope), add(keyName, public), t.Close())
}

// addJSON adds a part of JSON.
func addJSON(add func(string, []byte) error, name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return add(name, data)
}

// contentsOf lists the contents that evidence names, each once, in order.
// Digests that are "" stand for a file that was not there, before or after. The order is
// that of the names, so that the bytes do not depend on which candidate named one first.
func contentsOf(e replay.Evidence, content func(digest string) ([]byte, error)) ([]string, error) {
	text, err := content(e.Inventory)
	if err != nil {
		return nil, err
	}
	names, err := workspace.Contents(text)
	names = append(names, e.Inventory)
	for _, x := range e.Candidates {
		names = append(names, x.Response)
		for _, f := range x.Files {
			names = append(names, f.Before, f.After)
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(d string) bool { return d == "" }), err
}

// An Archive is one that was read and found whole.
// It reads from where it was opened: that must stay open, and must not change, as long as
// Content is called.
type Archive struct {
	Evidence replay.Evidence
	// Fingerprint is that of the key that signed it.
	// That it is the right one is for the caller to know: see the package comment.
	Fingerprint string
	// Parts is how many there are, Size the bytes of all.
	Parts int
	Size  int64

	from  io.ReaderAt
	found map[string]found
}

// found is where a part lies.
// at counts from the beginning of the file to the first byte after the header. The digest is
// that of the bytes that are there, whatever the manifest says.
type found struct {
	part
	at int64
}

// A DamagedError says what is wrong with an archive.
// What cannot be read at all, as when the disk fails, is told so too: nothing here can tell
// which of the two it was.
type DamagedError struct{ Reason string }

// Error is the reason.
func (e *DamagedError) Error() string { return "the archive is damaged: " + e.Reason }

// Open reads the archive of size bytes and checks all of it. The error is a
// *DamagedError when a bit in it is another than when it was written.
//
// That parts are there once, in one order, and are those of the manifest leaves no place
// for one that nobody signed, and none for a name that is read in two ways. The names are
// never those of files: nothing is unpacked.
func Open(ctx context.Context, from io.ReaderAt, size int64) (*Archive, error) {
	damaged := func(format string, args ...any) error { return &DamagedError{fmt.Sprintf(format, args...)} }
	if size > maxArchive {
		return nil, damaged("%d MiB are more than any has", size>>20)
	}
	a := &Archive{Size: size, from: from, found: map[string]found{}}
	order, err := a.index(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err() // which says nothing of the archive
	}
	if err != nil {
		return nil, damaged("%v", err)
	}
	// n is negative for a file of fewer parts: no slice is taken before that is known.
	n := len(order) - 3
	if n < 2 || !slices.Equal(order[n:], []string{manifestName, attestedName, keyName}) || !slices.Equal(order[:2], []string{runName, exchangesName}) {
		return nil, damaged("its parts are others, or in another order, than an archive has")
	}
	a.Parts = len(order)
	var m manifest
	if err := errors.Join(a.decode(manifestName, &m), a.decode(runName, &a.Evidence), a.decode(exchangesName, &a.Evidence.Exchanges)); err != nil {
		return nil, damaged("%v", err)
	}
	if m.Format != format {
		return nil, damaged("it has the format %d, and this agent reads %d: read it with the agent that wrote it", m.Format, format)
	}
	listed := []string{}
	for _, p := range m.Parts {
		// The zero part of a name that is not there equals no part that has a digest. A blob's
		// name is the digest by which it will be asked for.
		if a.found[p.Name].part != p || strings.HasPrefix(p.Name, blobs) && p.Name != blobs+p.SHA256 {
			return nil, damaged("%s is not what the manifest says", p.Name)
		}
		listed = append(listed, p.Name)
	}
	if !slices.Equal(listed, order[:n]) || m.Run != a.Evidence.Run {
		return nil, damaged("the manifest lists other parts")
	}
	// The manifest was compared with the bytes before: a signature of it is one of them all.
	if err := a.signed(ctx); err != nil {
		return nil, damaged("attestation: %v", err)
	}
	return a, nil
}

// signed checks the attestation.
// The key comes out of the archive: it proves who signed only to those who know its
// fingerprint.
func (a *Archive) signed(ctx context.Context) error {
	public, err := a.read(keyName)
	if err != nil {
		return err
	}
	key, err := ParsePublic(public)
	if err != nil {
		return err
	}
	envelope, err := a.read(attestedName)
	if err != nil {
		return err
	}
	if a.Fingerprint, err = key.KeyID(); err != nil {
		return err
	}
	return attested(ctx, envelope, key, a.Evidence, a.found[manifestName].SHA256)
}

// index finds the parts, and compares the file with what would be written for them.
// That comparison is what makes every byte count. A tar has many where a reader looks at
// none: owners, times, padding, extended headers, whatever follows the end. Two archives that
// mean the same would differ in them, and one could carry there what nobody checks.
func (a *Archive) index(ctx context.Context) (order []string, err error) {
	in := io.NewSectionReader(a.from, 0, a.Size)
	same := &comparer{ended: ctx.Err, from: a.from}
	t, again := tar.NewReader(in), tar.NewWriter(same)
	for {
		h, err := t.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		// The tar reader reads no further than the header, and does not buffer: here the content
		// begins.
		at, err := in.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, err
		}
		p := part{Name: h.Name, Size: h.Size}
		// A sparse file claims more bytes than it has. Without the second condition the copy below
		// would hash zeros for as long as a header of 512 bytes asks.
		if h.Typeflag != tar.TypeReg || p.Size > a.Size-at {
			return nil, fmt.Errorf("%q is no plain file of its size", p.Name)
		}
		if err := p.tooLarge(); err != nil {
			return nil, err
		}
		if _, twice := a.found[p.Name]; twice {
			return nil, fmt.Errorf("%q is there twice", p.Name)
		}
		sum := sha256.New()
		if err := again.WriteHeader(p.header()); err != nil {
			return nil, err
		}
		if _, err := io.Copy(io.MultiWriter(again, sum), t); err != nil {
			return nil, err
		}
		p.SHA256 = hex.EncodeToString(sum.Sum(nil))
		a.found[p.Name] = found{p, at}
		order = append(order, p.Name)
	}
	// Close writes the end marks, which are compared too.
	if err := again.Close(); err != nil {
		return nil, err
	}
	if same.at != a.Size {
		return nil, errors.New("something is behind its end")
	}
	return order, nil
}

// decode reads a part of JSON.
func (a *Archive) decode(name string, into any) error {
	data, err := a.read(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// read returns a part.
// The bound is checked before the memory is taken. The error does not wrap a DamagedError:
// Open adds it where it applies.
func (a *Archive) read(name string) ([]byte, error) {
	p, ok := a.found[name]
	if !ok || p.Size > maxPart {
		return nil, fmt.Errorf("%s is missing, or too large", name)
	}
	data := make([]byte, p.Size)
	if _, err := a.from.ReadAt(data, p.at); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

// Content returns a content by its digest. Whoever uses it compares.
// The digest of the bytes was compared with the name when the archive was opened. A caller
// that is not to depend on what a file holds a moment later compares again, as a replay does.
func (a *Archive) Content(digest string) ([]byte, error) { return a.read(blobs + digest) }

// A comparer takes what is written for what lies in a file.
type comparer struct {
	ended func() error // why to stop, nil to go on
	from  io.ReaderAt
	at    int64
}

// Write compares the next bytes.
// Beyond the end of the file it reads zeros, and the end marks are zeros too: where they are
// cut short at ends behind the size, which index compares.
func (c *comparer) Write(p []byte) (int, error) {
	// A gigabyte takes seconds, in which somebody may have had enough.
	if err := c.ended(); err != nil {
		return 0, err
	}
	is := make([]byte, len(p))
	if _, err := c.from.ReadAt(is, c.at); err != nil && err != io.EOF || !bytes.Equal(is, p) {
		return 0, fmt.Errorf("the bytes near %d are not those that were written", c.at)
	}
	c.at += int64(len(p))
	return len(p), nil
}
