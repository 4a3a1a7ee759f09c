package workbench

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"agent/sandbox/guest"
	"agent/sandbox/guest/wire"
)

// The bounds of one frame of an extraction, and of what a tar stream needs for each file besides its content.
const (
	maxExtractFrame = 1 << 20
	tarHead         = 16 << 10
)

// An Extract is what a box holds in place of what it began with. All of it is the word of untrusted code: paths may
// lead anywhere, and what is reported as gone may be there.
type Extract struct {
	// Files are the regular files that changed, by path.
	Files map[string]ExtractFile
	// Gone are the known paths at which nothing is left.
	Gone []string
	// Left is what changed and no patch can hold. LeftCount also counts what Left does not name.
	Left      []guest.Left
	LeftCount int
}

// An ExtractFile is one regular file.
type ExtractFile struct {
	Content []byte
	// Exec says that someone may execute it.
	Exec bool
}

// An ExtractError says that more changed in a box than the rules allow, or that something cannot be read.
type ExtractError struct{ Problem string }

// Error returns the problem.
func (e *ExtractError) Error() string { return e.Problem }

// Take returns how /work differs from the known files, according to the guest at the other end of stream. No command
// may run meanwhile. The rules bound what arrives, whatever it is. The error is an *ExtractError if the command is to
// blame; after any other error the stream is no longer usable.
func Take(stream io.ReadWriter, rules guest.Rules, known []guest.Known) (Extract, error) {
	if err := ask(stream, rules, known); err != nil {
		return Extract{}, err
	}
	files, broken, err := readExtract(stream, rules)
	if err != nil {
		return Extract{}, err
	}
	var end guest.Extracted
	if err := wire.ReadJSON(stream, wire.KindExtracted, guest.MaxExtracted, &end); err != nil {
		return Extract{}, err
	}
	switch {
	case len(end.Gone) > len(known) || len(end.Left) > guest.MaxLeft || end.LeftCount < len(end.Left) || slices.ContainsFunc(end.Left, longer):
		return Extract{}, errors.New("more files are gone or left out than there can be")
	case end.Problem != "":
		return Extract{}, &ExtractError{fmt.Sprintf("%.500s", end.Problem)}
	case broken != nil:
		return Extract{}, broken
	}
	return Extract{Files: files, Gone: end.Gone, Left: end.Left, LeftCount: end.LeftCount}, nil
}

// ask sends the rules and the known files.
func ask(stream io.Writer, rules guest.Rules, known []guest.Known) error {
	if err := wire.WriteJSON(stream, wire.KindExtract, rules); err != nil {
		return err
	}
	data := wire.NewDataWriter(stream)
	to := json.NewEncoder(data)
	for _, k := range known {
		if err := to.Encode(k); err != nil {
			return err
		}
	}
	return data.Close()
}

// longer reports whether an entry is longer than an honest guest would make it.
func longer(l guest.Left) bool { return len(l.Path) > 4*4096 || len(l.Reason) > 200 }

// readExtract reads the tar stream. broken says that the stream ended early, as it does when the guest gives up
// halfway; the frame after it says why.
func readExtract(from io.Reader, rules guest.Rules) (files map[string]ExtractFile, broken, err error) {
	data := &wire.DataReader{Next: func() (wire.Kind, []byte, error) { return wire.ReadFrame(from, maxExtractFrame) }}
	limited := &io.LimitedReader{R: data, N: rules.MaxBytes + int64(rules.MaxFiles+2)*tarHead}
	files, broken = untar(limited, rules)
	if broken != nil && !errors.Is(broken, io.ErrUnexpectedEOF) {
		return nil, nil, broken
	}
	// What follows the end of the archive is not part of it.
	if _, err := io.Copy(io.Discard, limited); err != nil {
		return nil, nil, err
	}
	if limited.N <= 0 {
		return nil, nil, errors.New("the tar stream is larger than what may be taken out")
	}
	return files, broken, nil
}

// untar reads regular files, each at most once, within the rules.
func untar(from io.Reader, rules guest.Rules) (map[string]ExtractFile, error) {
	files := map[string]ExtractFile{}
	var total int64
	for archive := tar.NewReader(from); ; {
		head, err := archive.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		total += head.Size
		_, twice := files[head.Name]
		switch {
		case head.Typeflag != tar.TypeReg:
			return nil, fmt.Errorf("%.200q is not a regular file", head.Name)
		case twice:
			return nil, fmt.Errorf("%.200q occurs twice", head.Name)
		case head.Size > rules.MaxFile || total > rules.MaxBytes || len(files) >= rules.MaxFiles:
			return nil, fmt.Errorf("%.200q exceeds what may be taken out", head.Name)
		}
		content, err := io.ReadAll(io.LimitReader(archive, rules.MaxFile+1))
		if err != nil {
			return nil, err
		}
		files[head.Name] = ExtractFile{Content: content, Exec: head.Mode&0o111 != 0}
	}
}
