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

// The bounds of a frame of an extraction, and of what a tar stream has beside the contents for a file.
const (
	maxExtractFrame = 1 << 20
	tarHead         = 16 << 10
)

// An Extract is what a box holds in place of what it began with. All of it is the word of untrusted
// code: paths may lead anywhere, and what is said to be gone may be there.
type Extract struct {
	// Files are the regular files that changed, by path.
	Files map[string]ExtractFile
	// Gone are the known paths at which there is nothing.
	Gone []string
	// Left is what changed and no patch can hold; LeftCount counts those that are not named too.
	Left      []guest.Left
	LeftCount int
}

// An ExtractFile is one regular file.
type ExtractFile struct {
	Content []byte
	// Exec says that somebody may execute it.
	Exec bool
}

// An ExtractError says that more changed in a box than the rules allow, or what cannot be read.
type ExtractError struct{ Problem string }

// Error is the problem.
func (e *ExtractError) Error() string { return e.Problem }

// Take returns what differs in /work from what is known, as the guest at the other end of stream has it. No
// command may run meanwhile, and what comes is bounded by the rules whatever it is. The error is an
// *ExtractError where the command is to blame; after any other the stream is of no more use.
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
		return Extract{}, errors.New("more is gone or left than there can be")
	case end.Problem != "":
		return Extract{}, &ExtractError{fmt.Sprintf("%.500s", end.Problem)}
	case broken != nil:
		return Extract{}, broken
	}
	return Extract{Files: files, Gone: end.Gone, Left: end.Left, LeftCount: end.LeftCount}, nil
}

// ask sends the rules and what is known.
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

// longer reports what is said of a thing at more length than an honest guest does.
func longer(l guest.Left) bool { return len(l.Path) > 4*4096 || len(l.Reason) > 200 }

// readExtract reads the tar stream. broken says that it ended early, as it does where the guest gave
// up half-way; what follows tells then.
func readExtract(from io.Reader, rules guest.Rules) (files map[string]ExtractFile, broken, err error) {
	data := &wire.DataReader{Next: func() (wire.Kind, []byte, error) { return wire.ReadFrame(from, maxExtractFrame) }}
	limited := &io.LimitedReader{R: data, N: rules.MaxBytes + int64(rules.MaxFiles+2)*tarHead}
	files, broken = untar(limited, rules)
	if broken != nil && !errors.Is(broken, io.ErrUnexpectedEOF) {
		return nil, nil, broken
	}
	// What follows the end of the archive is none of it.
	if _, err := io.Copy(io.Discard, limited); err != nil {
		return nil, nil, err
	}
	if limited.N <= 0 {
		return nil, nil, errors.New("a tar stream larger than what may be taken out")
	}
	return files, broken, nil
}

// untar reads regular files, each once, within the rules.
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
			return nil, fmt.Errorf("%.200q is no regular file", head.Name)
		case twice:
			return nil, fmt.Errorf("%.200q comes twice", head.Name)
		case head.Size > rules.MaxFile || total > rules.MaxBytes || len(files) >= rules.MaxFiles:
			return nil, fmt.Errorf("%.200q is more than what may be taken out", head.Name)
		}
		content, err := io.ReadAll(io.LimitReader(archive, rules.MaxFile+1))
		if err != nil {
			return nil, err
		}
		files[head.Name] = ExtractFile{Content: content, Exec: head.Mode&0o111 != 0}
	}
}
