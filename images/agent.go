package images

import (
	"context"
	"fmt"

	"github.com/moby/buildkit/client/llb"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
)

// Runtime is what the agent's own image stands on.
const Runtime = "runtime"

// The labels of the agent's own images.
const (
	// They are part of the configuration, and so of the image's ID: nobody changes them without another ID.
	labelSource  = "agent.source"  // digest of the tree that it was built from
	labelProgram = "agent.program" // SHA-256 of the program, in hex
)

// agentStep is the script that builds the agent.
const agentStep = "steps/agent.sh"

// A Build is an image of the agent, made from its source.
// ID is what an image is run and compared by: a tag may have moved.
type Build struct {
	ID      string // sha256:…
	Source  string // digest of the tree
	Program string // SHA-256 of /usr/local/bin/agent, in hex
}

// Agent builds the agent from its source and tags the image ref. on is the toolchain with the source's modules
// installed, see Install; workspace names the source as for Snapshot. The same tree on the same toolchain is the same
// program, byte for byte. The image is small: git, certificates, the program, and a user of its own, 10003:10003.
//
// Nothing that is built is run here. The error says whether the base or the build broke; a compiler's own words are in
// it. An image that the tag named before keeps its ID and loses the tag.
func (b *Builder) Agent(ctx context.Context, ref string, on Image, tree Tree, workspace string) (Build, error) {
	runtime, err := b.Ensure(ctx, Runtime)
	if err != nil {
		return Build{}, fmt.Errorf("build the %s image: %w", Runtime, err)
	}
	// A base that is no toolchain would fail in the middle of the build, in words of a shell.
	if _, err := b.toolchainLabels(ctx, on); err != nil {
		return Build{}, err
	}
	source := workspaceSource(workspace)
	if err := b.freeze(ctx, ref, source, tree, agentPlan(runtime, on, tree.Digest(), source)); err != nil {
		return Build{}, fmt.Errorf("build the agent: %w", err)
	}
	return b.FindAgent(ctx, ref)
}

// FindAgent returns the agent's image of that tag or ID; the error wraps ErrAbsent when there is none.
// An image without the label is not ours, whatever its tag: nothing is told of it but that.
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

// agentPlan compiles in the toolchain, with no network, and puts the one file that comes of it on the runtime.
//
// The compiler gets the source read-only and gives out one directory: the program and its digest. The digest is taken
// where the program is made, since the client sees no file of the image. No tool of the toolchain, and no source, gets
// into the image.
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
		// What is compiled is kept for the next build: the compiler knows it by the digest of all that it was made of.
		out := step(tools, "[agent] compile", copyMark(source), string(script), []string{digest},
			llb.AddEnv("PATH", buildPath), llb.AddEnv("HOME", "/tmp"), llb.Network(llb.NetModeNone),
			llb.AddMount("/media", files, llb.Readonly), llb.AddMount("/tmp", llb.Scratch(), llb.Tmpfs()),
			llb.AddMount("/var/cache", llb.Scratch(), llb.AsPersistentCacheDir("agent-go-build", llb.CacheMountLocked)),
		).AddMount("/out", llb.Scratch())
		// Solved here, in the middle: the digest becomes a label of what is built of the same state.
		program, err := readBuilt(ctx, c, out, "digest")
		if err != nil {
			return none(err)
		}
		// A build step wrote it: it is checked before it is a label.
		if !hexSHA256.MatchString(program) {
			return none(fmt.Errorf("the digest of the program reads %.80q", program))
		}
		root := llb.Image(runtime.Ref, llb.ResolveModePreferLocal, llb.WithCustomName("[agent] take "+runtime.Ref))
		root = step(root, "[agent] put the program in", stepMark, "cp -p /media/agent /usr/local/bin/agent\n", nil,
			llb.AddEnv("PATH", buildPath), llb.AddMount("/media", out, llb.Readonly), llb.Network(llb.NetModeNone)).Root()
		config, err := runtimeConfig()
		config.Labels = map[string]string{labelSource: digest, labelProgram: program}
		return root, config, err
	}
}

// runtimeConfig is the configuration of the runtime, which the agent's image has too.
// A state has no configuration: the steps would give an image without user and entrypoint.
func runtimeConfig() (ocispecs.ImageConfig, error) {
	r, err := load(Runtime, nil)
	if err != nil {
		return ocispecs.ImageConfig{}, err
	}
	return ocispecs.ImageConfig{User: r.User, Env: r.Env, WorkingDir: r.Workdir, Entrypoint: r.Entrypoint}, nil
}

// readBuilt solves a state and reads one file of it.
// The file is small and ours; the engine's bound on a read is the only one.
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
