package images

import (
	"context"
	"fmt"

	"github.com/moby/buildkit/client/llb"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
)

// Runtime is the name of the image on which the agent's own image is built.
const Runtime = "runtime"

// These are the labels of the agent's own images.
const (
	// They are part of the configuration, and so of the image's ID: they cannot change without it.
	labelSource  = "agent.source"  // digest of the tree that it was built from
	labelProgram = "agent.program" // SHA-256 of the program, in hex
)

// agentStep is the script that builds the agent.
const agentStep = "steps/agent.sh"

// A Build is an image of the agent, made from its source. ID is what an image is run and compared by: a tag may have moved.
type Build struct {
	ID      string // sha256:…
	Source  string // digest of the tree
	Program string // SHA-256 of /usr/local/bin/agent, in hex
}

// Agent builds the agent from its source and tags the image ref. on is the toolchain with the source's modules installed,
// see Install; workspace names the source as for Snapshot. The same tree on the same toolchain gives the same program, byte
// for byte. The image is small: git, certificates, the program, and a user of its own, 10003:10003.
//
// Agent runs nothing that it builds. The error says whether the base or the build broke, and contains the compiler's own
// words. An image that the tag named before keeps its ID and loses the tag.
func (b *Builder) Agent(ctx context.Context, ref string, on Image, tree Tree, workspace string) (Build, error) {
	runtime, err := b.Ensure(ctx, Runtime)
	if err != nil {
		return Build{}, fmt.Errorf("build the %s image: %w", Runtime, err)
	}
	// A base that is not a toolchain would fail in the middle of the build, with an error from a shell.
	if _, err := b.toolchainLabels(ctx, on); err != nil {
		return Build{}, err
	}
	source := workspaceSource(workspace)
	if err := b.freeze(ctx, ref, source, tree, agentPlan(runtime, on, tree.Digest(), source)); err != nil {
		return Build{}, fmt.Errorf("build the agent: %w", err)
	}
	return b.FindAgent(ctx, ref)
}

// FindAgent returns the agent's image with this tag or ID. If there is none, the error wraps ErrAbsent. An image without the
// label is not the agent's, whatever its tag, and counts as absent.
func (b *Builder) FindAgent(ctx context.Context, ref string) (Build, error) {
	id, labels, err := b.engine.ImageLabels(ctx, ref)
	if err != nil {
		return Build{}, fmt.Errorf("look for the agent's image: %w", err)
	}
	if id == "" || labels[labelSource] == "" {
		return Build{}, fmt.Errorf("the agent's image %s: %w: run `agent self rebuild`", ref, ErrAbsent)
	}
	return Build{ID: id, Source: labels[labelSource], Program: labels[labelProgram]}, nil
}

// agentPlan compiles in the toolchain, without a network, and puts the one resulting file on the runtime.
//
// The compiler gets the source read-only and gives out one directory: the program and its digest. The digest is taken where
// the program is made, since the client sees no file of the image. Neither the toolchain's tools nor the source get into the
// image.
func agentPlan(runtime, on Image, digest, source string) plan {
	return func(ctx context.Context, c gateway.Client) (llb.State, ocispecs.ImageConfig, error) {
		none := func(err error) (llb.State, ocispecs.ImageConfig, error) {
			return llb.State{}, ocispecs.ImageConfig{}, err
		}
		script, err := specs.ReadFile(agentStep)
		if err != nil {
			return none(err)
		}
		tools := llb.Image(on.Ref, llb.ResolveModePreferLocal, llb.WithCustomName("[agent] take "+on.Ref))
		files := llb.Local(source, llb.SharedKeyHint(source), llb.WithCustomName("[agent] transfer the source"))
		// The compiled packages are kept for the next build: the compiler identifies them by the digest of all their inputs.
		out := step(tools, "[agent] compile", copyMark(source), string(script), []string{digest},
			llb.AddEnv("PATH", buildPath), llb.AddEnv("HOME", "/tmp"), llb.Network(llb.NetModeNone),
			llb.AddMount("/media", files, llb.Readonly), llb.AddMount("/tmp", llb.Scratch(), llb.Tmpfs()),
			llb.AddMount("/var/cache", llb.Scratch(), llb.AsPersistentCacheDir("agent-go-build", llb.CacheMountLocked)),
		).AddMount("/out", llb.Scratch())
		// It is solved here, in the middle: the digest becomes a label of the image built from the same state.
		program, err := readBuilt(ctx, c, out, "digest")
		if err != nil {
			return none(err)
		}
		// A build step wrote the digest, so it is checked before it becomes a label.
		if !hexSHA256.MatchString(program) {
			return none(fmt.Errorf("the digest of the program is not a SHA-256: %.80q", program))
		}
		root := llb.Image(runtime.Ref, llb.ResolveModePreferLocal, llb.WithCustomName("[agent] take "+runtime.Ref))
		root = step(root, "[agent] put the program in", stepMark, "cp -p /media/agent /usr/local/bin/agent\n", nil,
			llb.AddEnv("PATH", buildPath), llb.AddMount("/media", out, llb.Readonly), llb.Network(llb.NetModeNone)).Root()
		config, err := runtimeConfig()
		config.Labels = map[string]string{labelSource: digest, labelProgram: program}
		return root, config, err
	}
}

// runtimeConfig returns the configuration of the runtime, which the agent's image shares. A state has no configuration: the
// steps alone would give an image without user and entrypoint.
func runtimeConfig() (ocispecs.ImageConfig, error) {
	r, err := load(Runtime, nil)
	if err != nil {
		return ocispecs.ImageConfig{}, err
	}
	return ocispecs.ImageConfig{User: r.User, Env: r.Env, WorkingDir: r.Workdir, Entrypoint: r.Entrypoint}, nil
}

// readBuilt solves a state and reads one file of it. The file is small and the agent's own; only the engine bounds the read.
func readBuilt(ctx context.Context, c gateway.Client, state llb.State, name string) (string, error) {
	res, err := evaluate(ctx, c, state)
	if err != nil {
		return "", err
	}
	ref, err := res.SingleRef()
	if err != nil {
		return "", err
	}
	text, err := ref.ReadFile(ctx, gateway.ReadRequest{Filename: name})
	if err != nil {
		return "", fmt.Errorf("read %s of the build: %w", name, err)
	}
	return string(text), nil
}
