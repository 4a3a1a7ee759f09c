package survey

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"agent/images"
	"agent/orchestrator/gate"
	"agent/orchestrator/ledger"
	"agent/orchestrator/ledger/decode"
	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/symbols"
)

// The bounds of a scan.
const (
	// maxSource is the size in bytes up to which a file is read: a larger one is
	// data, and the scanner would refuse it too.
	maxSource = 1 << 20
	// scanFiles and scanBytes are the most that is sent to the box at once.
	scanFiles = 500
	scanBytes = 32 << 20
	// quietScan is the number of files up to which a scan says nothing.
	quietScan = 1000
	// binaryHead is how much of a file is looked at to tell whether it is text,
	// as git does.
	binaryHead = 8000
)

// A scan reads files of a workspace in one box, which is started for the first
// file that needs it.
//
// The box stands on the toolchain image alone, and is sent the files: to
// freeze all of a workspace for one changed file would cost a hundred times as
// much, and the scanner reads each file for itself.
type scan struct {
	*Analyst
	base    *workspace.Manifest
	scanner string
	box     *sandbox.Box
	// For progress: how many files there are to read, and were read.
	total, done int
}

// all reads the files that are new to the record and those that changed. The
// new ones are recorded at once, since whoever uses them need not be told of
// them: a first study that is killed does not begin again.
func (s *scan) all(ctx context.Context, fresh, changed []workspace.Entry) (files, again []ledger.File, err error) {
	files, err = s.read(ctx, fresh, func(files []ledger.File) error {
		return s.save(ctx, s.base.Root, s.scanner, files, nil)
	})
	if err != nil {
		return nil, nil, err
	}
	again, err = s.read(ctx, changed, nil)
	return files, again, err
}

// read has the entries parsed and returns what was found, in parts of a bounded
// size; each part is given to done, unless that is nil, when it is there.
func (s *scan) read(ctx context.Context, entries []workspace.Entry, done func([]ledger.File) error) ([]ledger.File, error) {
	var all []ledger.File
	// Each part is read, handed on and forgotten by the box before the next: what
	// is held at a time does not grow with the workspace.
	for len(entries) > 0 {
		batch := entries[:portion(entries)]
		entries = entries[len(batch):]
		files, err := s.part(ctx, batch)
		if err == nil && done != nil {
			err = done(files)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
		s.done += len(batch)
		if s.total > quietScan && s.Note != nil {
			s.Note(fmt.Sprintf("read %d of %d files", s.done, s.total))
		}
	}
	return all, nil
}

// portion is how many of the entries are sent at once, at least one. What is
// too large to be sent takes no room.
func portion(entries []workspace.Entry) int {
	size := int64(0)
	for n, e := range entries[:min(scanFiles, len(entries))] {
		if e.Size <= maxSource {
			size += e.Size
		}
		if size > scanBytes {
			return max(1, n)
		}
	}
	return min(scanFiles, len(entries))
}

// part reads one portion: what is a text goes to the box, the rest is recorded
// as not read.
func (s *scan) part(ctx context.Context, entries []workspace.Entry) ([]ledger.File, error) {
	// What cannot be read has a row too, under its digest: else it would be looked
	// at again in every study.
	var files []ledger.File
	var sent workspace.Changeset
	digests := map[string]string{}
	for _, e := range entries {
		if e.Size > maxSource {
			files = append(files, ledger.File{Path: e.Path, SHA256: e.Digest, Problem: "over 1 MiB"})
			continue
		}
		// Checked against the manifest while it is read: the digest that is recorded
		// belongs to these bytes and no others.
		text, err := s.base.ReadFile(e.Path)
		var moving *workspace.ChangedError
		switch {
		case errors.As(err, &moving):
			continue // the next study reads it
		case err != nil:
			return nil, err
		case bytes.IndexByte(text[:min(binaryHead, len(text))], 0) >= 0:
			files = append(files, ledger.File{Path: e.Path, SHA256: e.Digest, Problem: "not a text"})
		default:
			sent.Changes = append(sent.Changes, workspace.Change{Op: workspace.Create, Path: e.Path, Mode: 0o644, After: text})
			digests[e.Path] = e.Digest
		}
	}
	parsed, err := s.parse(ctx, sent)
	for i := range parsed {
		// The digest is ours, whatever the box says of it: it decides what is
		// read again.
		parsed[i].SHA256 = digests[parsed[i].Path]
	}
	return append(files, parsed...), err
}

// parse has files parsed in the box, and takes them out of it again: what is
// parsed next must not find memory taken.
func (s *scan) parse(ctx context.Context, sent workspace.Changeset) ([]ledger.File, error) {
	if sent.Empty() {
		return nil, nil
	}
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	if err := s.box.Apply(ctx, sent); err != nil {
		return nil, fmt.Errorf("send %d files to be parsed: %w", len(sent.Changes), err)
	}
	// The paths are those of the workspace, so what is found needs no translation.
	var paths []string
	for _, c := range sent.Changes {
		paths = append(paths, c.Path)
	}
	var files []ledger.File
	err := symbols.Scan(ctx, s.box, "/work", paths, func(paths []string, answer []byte) error {
		part, err := decode.Files(bytes.NewReader(answer), paths)
		files = append(files, part...)
		return err
	})
	// The last part is removed with the box.
	if err == nil && s.done+len(paths) < s.total {
		err = s.box.Apply(ctx, sent.Reverse())
	}
	return slices.Clip(files), err
}

// start starts the box when there is none yet.
func (s *scan) start(ctx context.Context) error {
	if s.box != nil {
		return nil
	}
	tools, err := s.Images.Ensure(ctx, images.Toolchain)
	if err != nil {
		return fmt.Errorf("build the toolchain image: %w", err)
	}
	s.box, err = s.Boxes.Start(ctx, sandbox.Spec{
		Image: tools.ID, Run: "analyze", Purpose: "symbols", Lease: time.Now().Add(gate.LeaseFor),
	})
	if err != nil {
		return fmt.Errorf("start a box to parse in: %w", err)
	}
	return nil
}

// close removes the box, if there is one.
func (s *scan) close() error {
	if s.box == nil {
		return nil
	}
	if err := s.box.Close(); err != nil {
		return fmt.Errorf("close the box of the scan: %w", err)
	}
	return nil
}
