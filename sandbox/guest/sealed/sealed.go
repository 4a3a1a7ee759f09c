// Package sealed keeps a tree in files that only its key opens, so that a box's programs cannot use what is in its image.
//
// The image of a box holds the workspace as it was before the patch. It is readable for everyone, since the guest has no special
// user. A program under test that read it there could answer with the old code. So the tree is stored as packs: tar streams under
// AES-256 in counter mode, each pack with a counter of its own. The key is made for one snapshot. It is a label of its image,
// which no program in a box can see, and reaches the guest over the stream. The guest unpacks, forgets the key, and has been
// undumpable from its start.
//
// There is no authentication: anyone who could change an image could change the box. What a wrong key makes of a pack is not a
// tar, and is refused as such.
//
// A few large files also cost less than many small ones: a layer of 64 packs is made and read in a fraction of the time.
package sealed

import (
	"archive/tar"
	"bufio"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// Label is the label of an image that holds the key of its packs.
const Label = "agent.snapshot.key"

// KeySize is the length of a key in bytes.
const KeySize = 32

// NewKey returns a random key as hex, which is how a label and a frame carry it.
func NewKey() string {
	key := make([]byte, KeySize)
	rand.Read(key) // never fails
	return hex.EncodeToString(key)
}

// packs is how many packs a large tree is divided into. The guest unpacks several at once.
const packs = 64

// Structure is the name of the pack that holds the directories and links.
const Structure = "tree"

// An Entry is a directory, a regular file or a symbolic link.
type Entry struct {
	// Path is relative and slash-separated.
	Path string
	// Mode is the type and the permission bits.
	Mode fs.FileMode
	// Size is the length of a file in bytes.
	Size int64
	// Target is the target of a link.
	Target string
}

// A Pack is one file of a sealed tree.
type Pack struct {
	// Name is the name of the file.
	Name    string
	entries []Entry
	number  uint32
}

// Divide puts the entries of a tree, parents before their children, into packs.
func Divide(entries []Entry) []Pack {
	byNumber := make([]Pack, packs+1)
	for i := range byNumber {
		byNumber[i] = Pack{Name: packName(i), number: uint32(i)}
	}
	for _, e := range entries {
		n := 0
		if e.Mode.IsRegular() {
			n = 1 + int(hashOf(e.Path)%packs)
		}
		byNumber[n].entries = append(byNumber[n].entries, e)
	}
	kept := byNumber[:1]
	for _, p := range byNumber[1:] {
		if len(p.entries) > 0 {
			kept = append(kept, p)
		}
	}
	return kept
}

func packName(n int) string {
	if n == 0 {
		return Structure
	}
	return fmt.Sprintf("files-%02d", n)
}

func hashOf(name string) uint32 {
	h := fnv.New32a()
	io.WriteString(h, name)
	return h.Sum32()
}

// header describes an entry as tar does.
func (e Entry) header() *tar.Header {
	h := &tar.Header{Name: e.Path, Mode: int64(e.Mode.Perm()), Format: tar.FormatPAX}
	switch e.Mode.Type() {
	case fs.ModeDir:
		h.Typeflag, h.Name = tar.TypeDir, e.Path+"/"
	case fs.ModeSymlink:
		h.Typeflag, h.Linkname = tar.TypeSymlink, e.Target
	default:
		h.Typeflag, h.Size = tar.TypeReg, e.Size
	}
	return h
}

// block is the unit that tar rounds everything up to; trailer is the length of its end marker.
const (
	block   = 512
	trailer = 2 * block
)

// Size returns the length of the pack in bytes.
func (p Pack) Size() (int64, error) {
	var size counter
	for _, e := range p.entries {
		// Each entry gets a writer of its own, which is never asked for the content.
		if err := tar.NewWriter(&size).WriteHeader(e.header()); err != nil {
			return 0, fmt.Errorf("seal %s: %w", e.Path, err)
		}
		if e.Mode.IsRegular() {
			size += counter((e.Size + block - 1) / block * block)
		}
	}
	return int64(size) + trailer, nil
}

// A counter counts what is written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// Seal returns the bytes of the pack. open returns the content of the file at a path. The stream ends with an error of open or of
// reading, or if a content does not have the announced length.
func (p Pack) Seal(key string, open func(path string) (io.ReadCloser, error)) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		stream, err := p.cipher([]byte(key))
		if err == nil {
			err = p.write(cipher.StreamWriter{S: stream, W: w}, open)
		}
		w.CloseWithError(err) // nil means the normal end
	}()
	return r
}

// cipher returns the key stream of the pack. The upper half of the counter is the pack's number; no pack has 2^64 blocks.
func (p Pack) cipher(key []byte) (cipher.Stream, error) {
	raw := make([]byte, KeySize)
	defer clear(raw)
	if n, err := hex.Decode(raw, key[:min(len(key), 2*KeySize)]); err != nil || n != KeySize || len(key) != 2*KeySize {
		return nil, fmt.Errorf("the key of the snapshot is malformed: %d characters", len(key))
	}
	c, err := aes.NewCipher(raw)
	if err != nil {
		return nil, err
	}
	var start [aes.BlockSize]byte
	binary.BigEndian.PutUint32(start[:], p.number)
	return cipher.NewCTR(c, start[:]), nil
}

// ioSize is how much is enciphered or deciphered at once: a pipe passes on each write separately.
const ioSize = 128 << 10

func (p Pack) write(w io.Writer, open func(string) (io.ReadCloser, error)) error {
	buffered := bufio.NewWriterSize(w, ioSize)
	archive := tar.NewWriter(buffered)
	for _, e := range p.entries {
		if err := archive.WriteHeader(e.header()); err != nil {
			return fmt.Errorf("seal %s: %w", e.Path, err)
		}
		if !e.Mode.IsRegular() {
			continue
		}
		if err := content(archive, e, open); err != nil {
			return fmt.Errorf("seal %s: %w", e.Path, err)
		}
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("seal: %w", err)
	}
	return buffered.Flush()
}

// content writes the content of one file. It reads to the end, by when the reader has compared the file with what was scanned.
func content(archive *tar.Writer, e Entry, open func(string) (io.ReadCloser, error)) error {
	f, err := open(e.Path)
	if err != nil {
		return err
	}
	n, err := io.Copy(archive, f)
	err = errors.Join(err, f.Close())
	if err == nil && n != e.Size {
		err = fmt.Errorf("%d bytes where %d were announced: %w", n, e.Size, io.ErrUnexpectedEOF)
	}
	return err
}

// ErrUnsealed means that a pack and the key do not match, or that the pack is truncated.
var ErrUnsealed = errors.New("the snapshot cannot be unsealed")

// Unseal calls put for each entry in the pack called name, whose bytes r holds; content is the content of a file. An error of put
// ends it.
func Unseal(r io.Reader, name string, key []byte, put func(e Entry, content io.Reader) error) error {
	p := Pack{Name: name}
	if name != Structure {
		if _, err := fmt.Sscanf(name, "files-%02d", &p.number); err != nil || packName(int(p.number)) != name {
			return fmt.Errorf("%q is not a pack: %w", name, ErrUnsealed)
		}
	}
	stream, err := p.cipher(key)
	if err != nil {
		return err
	}
	archive := tar.NewReader(bufio.NewReaderSize(cipher.StreamReader{S: stream, R: r}, ioSize))
	for {
		h, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("pack %s: %w: %w", name, ErrUnsealed, err)
		}
		e := Entry{Path: strings.TrimSuffix(h.Name, "/"), Mode: h.FileInfo().Mode(), Size: h.Size, Target: h.Linkname}
		// The path must stay inside, whoever made the pack.
		if !filepath.IsLocal(e.Path) || path.Clean(e.Path) != e.Path || e.Path == "." {
			return fmt.Errorf("pack %s: %q is not a path below a workspace", name, e.Path)
		}
		if err := put(e, archive); err != nil {
			return err
		}
	}
}
