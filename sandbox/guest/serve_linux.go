package guest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"agent/sandbox/guest/names"
	"agent/sandbox/guest/process"
	"agent/sandbox/guest/wire"
)

// snapshotDir is where the image has the frozen workspace, sealed and read-only.
const snapshotDir = "/snapshot"

// Main is the guest program: it hardens this process, fills /work, and answers requests on the stream until the stream
// ends. It refuses to run unless it is the first process of a PID namespace, because it kills every other process that
// it can see.
func Main(ctx context.Context, in io.Reader, out io.Writer) error {
	if os.Getpid() != 1 {
		return errors.New("the guest runs only as the first process of a box: start boxes with agent sandbox")
	}
	forker, err := process.OpenForker()
	if err != nil {
		return err
	}
	if err := process.Harden(); err != nil {
		return err
	}
	s := &server{in: in, out: &lockedWriter{w: out}, work: workDir, forker: forker, frames: make(chan frame), ended: make(chan struct{})}
	// The key comes before anything else runs here, and nothing keeps it.
	kind, key, err := wire.ReadFrame(in, maxKey)
	if err != nil {
		return fmt.Errorf("wait for the key of the snapshot: %w", err)
	}
	if kind != wire.KindKey {
		return fmt.Errorf("frame %q instead of the key of the snapshot", byte(kind))
	}
	ready := s.fill(snapshotDir, key)
	if err := wire.WriteJSON(out, wire.KindReady, ready); err != nil {
		return err
	}
	return s.serve(ctx)
}

// A server answers the requests of one stream, one after the other.
type server struct {
	in     io.Reader
	out    io.Writer
	work   string
	forker *process.Forker
	// frames carries what the host sends, from read to serve.
	frames chan frame
	// link is the link of the command in progress, if it has a way out; typed receives what comes for its terminal, if
	// it has one.
	link  atomic.Pointer[wire.Link]
	typed atomic.Pointer[keyboard]
	// ended is closed when serve has returned.
	ended chan struct{}
}

// A frame is one frame from the host.
type frame struct {
	kind    wire.Kind
	payload []byte
}

// fill unseals the snapshot and reports how it went, together with the identity of the guest. It wipes the key.
func (s *server) fill(snapshot string, key []byte) Ready {
	defer clear(key)
	ready := Ready{Protocol: Protocol}
	_, ready.SeesOOM = readKills()
	var err error
	if ready.Digest, err = ownDigest(); err == nil {
		err = names.Serve()
	}
	if err == nil {
		err = fill(snapshot, s.work, key, &ready)
	}
	if err != nil {
		ready.Problem = err.Error()
	}
	return ready
}

// ownDigest returns the SHA-256 of the program that this process runs.
func ownDigest() (string, error) {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return "", fmt.Errorf("open the guest program: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read the guest program: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// serve answers requests until the stream ends. A separate reader watches the stream, so that its end is seen while a
// command runs: it then cancels the context of that command.
func (s *server) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer close(s.ended)
	go func() {
		// serve does not wait for the reader, which may be in a read that nothing interrupts. The process ends with
		// serve.
		cancel(s.read())
	}()
	for {
		select {
		case <-ctx.Done():
			if err := context.Cause(ctx); err != io.EOF {
				return err
			}
			return nil
		case f := <-s.frames:
			if err := s.answer(ctx, f); err != nil {
				return err
			}
		}
	}
}

// read passes on what the host sends, until the stream ends or serve has returned.
func (s *server) read() error {
	for {
		kind, payload, err := wire.ReadFrame(s.in, maxRequest)
		if err != nil {
			return err
		}
		// These are taken here, where nothing waits. A frame that comes after the end of its command is late.
		if wire.OfLink(kind) {
			if link := s.link.Load(); link != nil {
				err = link.Take(kind, payload)
			}
			if err != nil {
				return err
			}
			continue
		}
		if kind == wire.KindInput || kind == wire.KindResize {
			if err := s.typed.Load().take(kind, payload); err != nil {
				return err
			}
			continue
		}
		select {
		case s.frames <- frame{kind, payload}:
		case <-s.ended:
			return io.EOF
		}
	}
}

// answer handles one request. An error means that the stream is no longer usable; a faulty request gets an answer that
// says so instead.
func (s *server) answer(ctx context.Context, f frame) error {
	switch f.kind {
	case wire.KindApply:
		var p Patch
		if err := json.Unmarshal(f.payload, &p); err != nil {
			return fmt.Errorf("decode patch: %w", err)
		}
		applied, err := s.apply(ctx, p)
		if err != nil {
			return err
		}
		return s.reply(ctx, wire.KindApplied, applied)
	case wire.KindRun:
		var c Command
		if err := json.Unmarshal(f.payload, &c); err != nil {
			return fmt.Errorf("decode command: %w", err)
		}
		var a Answer
		res, err := s.run(ctx, c.WithDefaults())
		if err != nil {
			a.Problem = err.Error()
		} else {
			a.Result = res
		}
		return s.reply(ctx, wire.KindEnded, a)
	case wire.KindExtract:
		var r Rules
		if err := json.Unmarshal(f.payload, &r); err != nil {
			return fmt.Errorf("decode rules: %w", err)
		}
		found, err := s.extract(ctx, r)
		if err != nil {
			return err
		}
		return s.reply(ctx, wire.KindExtracted, found)
	}
	return fmt.Errorf("frame %q is not a request", byte(f.kind))
}

// run runs a command, with a way out if it asks for one. Every channel is closed when run returns, so none of their
// frames comes after the answer.
func (s *server) run(ctx context.Context, c Command) (Result, error) {
	if c.Egress {
		link := wire.NewLink(s.out)
		way, err := openExit(link)
		if err != nil {
			return Result{}, err
		}
		defer way.close()
		s.link.Store(link)
		defer s.link.Store(nil)
	}
	var passed func(stream byte, p []byte)
	if c.Stream {
		passed = (&outlet{to: s.out, left: MaxStreamed}).write
	}
	if c.Terminal != nil {
		keys := newKeyboard()
		s.typed.Store(keys)
		defer s.typed.Store(nil)
		return run(ctx, c, s.forker, passed, keys)
	}
	return run(ctx, c, s.forker, passed, nil)
}

// reply sends an answer. If the host has gone, a failure to deliver it does not matter.
func (s *server) reply(ctx context.Context, kind wire.Kind, v any) error {
	err := wire.WriteJSON(s.out, kind, v)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// apply takes the frames that belong to the patch and applies them to the workspace.
func (s *server) apply(ctx context.Context, p Patch) (Applied, error) {
	data := s.data(ctx)
	applied, err := apply(s.work, p, data)
	if err != nil {
		applied.Problem = err.Error()
	}
	// The rest must be read in any case, or it would be taken for further requests.
	if _, err := io.Copy(io.Discard, data); err != nil {
		return Applied{}, fmt.Errorf("read the patch: %w", err)
	}
	return applied, nil
}

// data joins the Data frames that follow a request.
func (s *server) data(ctx context.Context) *wire.DataReader {
	return &wire.DataReader{Next: func() (wire.Kind, []byte, error) {
		select {
		case f := <-s.frames:
			return f.kind, f.payload, nil
		case <-ctx.Done():
			return 0, nil, context.Cause(ctx)
		}
	}}
}

// extract takes the frames that belong to the rules and sends what changed.
func (s *server) extract(ctx context.Context, r Rules) (Extracted, error) {
	known, out := s.data(ctx), wire.NewDataWriter(s.out)
	found, err := extract(s.work, r, known, out)
	if err != nil {
		return found, err
	}
	if _, err := io.Copy(io.Discard, known); err != nil {
		return found, fmt.Errorf("read the known files: %w", err)
	}
	return found, out.Close()
}
