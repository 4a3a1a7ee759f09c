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

// format is the format in manifest.json; readers refuse any other. It rises with every change in what the parts mean or
// how they are written: an archive that an older reader would take for damaged must carry another format.
const format = 1

// The names in an archive, other than those of blobs.
const (
	// The first two come in this order, then the blobs by digest, then the last three. Each of the last three describes
	// what is before it: the manifest the parts, the attestation the manifest.
	runName       = "run.json"
	exchangesName = "exchanges.json"
	blobs         = "blobs/"
	manifestName  = "manifest.json"
	attestedName  = "attestation.json"
	keyName       = "key.pub"
)

// The bounds on what is read, in bytes: of a file, and of the part of it that is held in memory at once.
const (
	// The sender of an archive chooses these sizes. Without a bound, the sender would choose how much memory and time
	// the reader spends before it has seen a signature.
	maxArchive = 1 << 30
	maxPart    = 64 << 20
)

// A manifest lists what is signed. It does not list itself, the attestation or the key: the attestation holds its
// digest, and the signature proves the key.
type manifest struct {
	Format int    `json:"format"`
	Run    string `json:"run"`
	Parts  []part `json:"parts"`
}

// A part is one file of an archive. Two parts are the same when all three fields are equal; see Open.
type part struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// header returns the only possible header of a part. It has no times, owners or modes of the machine, and the ustar
// form has no room for a second form of a name or a size.
func (p part) header() *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Format: tar.FormatUSTAR, Name: p.Name, Size: p.Size, Mode: 0o644}
}

// tooLarge returns an error for a part that no reader accepts.
func (p part) tooLarge() error {
	if p.Size > maxPart {
		return fmt.Errorf("%s has %d bytes, more than the limit of %d MiB for a part", p.Name, p.Size, maxPart>>20)
	}
	return nil
}

// A bounded writer takes no more than a reader of archives does: anything beyond that would be signed, and then be
// damage to every reader.
type bounded struct {
	io.Writer
	room int64
}

// Write passes p on while there is room.
func (b *bounded) Write(p []byte) (int, error) {
	if b.room -= int64(len(p)); b.room < 0 {
		return 0, fmt.Errorf("the archive exceeds the limit of %d MiB", maxArchive>>20)
	}
	return b.Writer.Write(p)
}

// Write writes the archive of a run; content returns the contents that the evidence names. Write wraps an error of
// content with the digest. What was written to w before an error is not an archive, and the caller throws it away.
// Write asks content for each digest once, and twice for the inventory. It does not compare the bytes with the digest:
// Open does.
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
	// Exchanges with models are by far the largest part of the evidence, and a replay needs only their steps, so they
	// have a file of their own. e is a copy; the caller's stays whole.
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

// addJSON adds a part in JSON.
func addJSON(add func(string, []byte) error, name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return add(name, data)
}

// contentsOf lists the contents that evidence names, each once, sorted by name, so that the bytes do not depend on
// which candidate named one first. The digest "" stands for a file that did not exist before or after; it is not
// listed.
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

// An Archive has been read and found whole. It reads from the reader with which it was opened: that must stay open and
// must not change as long as Content is called.
type Archive struct {
	Evidence replay.Evidence
	// Fingerprint is the fingerprint of the key that signed it. Only the caller can know whether that is the right key:
	// see the package comment.
	Fingerprint string
	// Parts is the number of parts, Size the bytes of all of them.
	Parts int
	Size  int64

	from  io.ReaderAt
	found map[string]found
}

// A found is the place of a part. at counts from the beginning of the file to the first byte after the header. The
// digest is computed from the actual bytes, whatever the manifest says.
type found struct {
	part
	at int64
}

// A DamagedError says what is wrong with an archive. It also covers an archive that cannot be read at all, as when the
// disk fails: nothing here can distinguish the two.
type DamagedError struct{ Reason string }

// Error returns the reason.
func (e *DamagedError) Error() string { return "the archive is damaged: " + e.Reason }

// Open reads the archive of size bytes and checks all of it. The error is a *DamagedError if any bit differs from what
// was written.
//
// Every part must exist once, in one order, and match the manifest. This leaves no room for an unsigned part, or for a
// name that can be read in two ways. The names are never used as file names: nothing is unpacked.
func Open(ctx context.Context, from io.ReaderAt, size int64) (*Archive, error) {
	damaged := func(format string, args ...any) error { return &DamagedError{fmt.Sprintf(format, args...)} }
	if size > maxArchive {
		return nil, damaged("%d MiB exceed the maximum size", size>>20)
	}
	a := &Archive{Size: size, from: from, found: map[string]found{}}
	order, err := a.index(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err() // the context's error says nothing about the archive
	}
	if err != nil {
		return nil, damaged("%v", err)
	}
	// n is negative if the file has too few parts; do not slice before that is known.
	n := len(order) - 3
	if n < 2 || !slices.Equal(order[n:], []string{manifestName, attestedName, keyName}) || !slices.Equal(order[:2], []string{runName, exchangesName}) {
		return nil, damaged("its parts, or their order, are not those of an archive")
	}
	a.Parts = len(order)
	var m manifest
	if err := errors.Join(a.decode(manifestName, &m), a.decode(runName, &a.Evidence), a.decode(exchangesName, &a.Evidence.Exchanges)); err != nil {
		return nil, damaged("%v", err)
	}
	if m.Format != format {
		return nil, damaged("it has format %d, but this agent reads format %d: read it with the agent that wrote it", m.Format, format)
	}
	listed := []string{}
	for _, p := range m.Parts {
		// A missing name has the zero part, which equals no part with a digest. A blob's name is the digest by which it
		// will be asked for.
		if a.found[p.Name].part != p || strings.HasPrefix(p.Name, blobs) && p.Name != blobs+p.SHA256 {
			return nil, damaged("%s does not match the manifest", p.Name)
		}
		listed = append(listed, p.Name)
	}
	if !slices.Equal(listed, order[:n]) || m.Run != a.Evidence.Run {
		return nil, damaged("the manifest lists different parts")
	}
	// The manifest was compared with the bytes above: a signature of the manifest covers them all.
	if err := a.signed(ctx); err != nil {
		return nil, damaged("attestation: %v", err)
	}
	return a, nil
}

// signed checks the attestation. The key comes from the archive: it proves who signed only to those who know its
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

// index finds the parts and compares the file with what would be written for them. That comparison makes every byte
// count: a tar has many bytes at which no reader looks, such as owners, times, padding, extended headers, and anything
// after the end. Two archives with the same meaning could differ there, and somebody could hide unchecked data there.
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
		// The tar reader reads no further than the header and does not buffer: the content begins here.
		at, err := in.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, err
		}
		p := part{Name: h.Name, Size: h.Size}
		// A sparse file claims more bytes than it has. Without the second condition, a header of 512 bytes could make
		// the copy below hash zeros for as long as it likes.
		if h.Typeflag != tar.TypeReg || p.Size > a.Size-at {
			return nil, fmt.Errorf("%q is not a plain file of the size in its header", p.Name)
		}
		if err := p.tooLarge(); err != nil {
			return nil, err
		}
		if _, twice := a.found[p.Name]; twice {
			return nil, fmt.Errorf("%q occurs twice", p.Name)
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
		return nil, errors.New("there is data after its end")
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

// read returns a part. It checks the bound before it takes the memory. Its error does not wrap a DamagedError: Open
// adds that where it applies.
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

// Content returns a content by its digest. Open compared the bytes with that digest. A caller that must not depend on
// what the file holds a moment later compares again, as a replay does.
func (a *Archive) Content(digest string) ([]byte, error) { return a.read(blobs + digest) }

// A comparer compares what is written with the content of a file.
type comparer struct {
	ended func() error // why to stop, nil to go on
	from  io.ReaderAt
	at    int64
}

// Write compares the next bytes. Beyond the end of the file it reads zeros, and the end marks are zeros too: if they
// are cut short, at ends beyond the size, which index compares.
func (c *comparer) Write(p []byte) (int, error) {
	// A gigabyte takes seconds, in which the user may cancel.
	if err := c.ended(); err != nil {
		return 0, err
	}
	is := make([]byte, len(p))
	if _, err := c.from.ReadAt(is, c.at); err != nil && err != io.EOF || !bytes.Equal(is, p) {
		return 0, fmt.Errorf("the bytes near offset %d differ from those that were written", c.at)
	}
	c.at += int64(len(p))
	return len(p), nil
}
