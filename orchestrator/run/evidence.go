package run

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"agent/orchestrator/gate"
	"agent/sandbox/workspace"
	"agent/verify"
)

// Settings are what decides a verdict besides the workspace and the patch.
type Settings struct {
	// Toolchain is the ID of the image with the tools; Versions says what was in it.
	Toolchain string            `json:"toolchain"`
	Versions  map[string]string `json:"versions"`
	// Installed names the dependencies that were installed, "" for none.
	Installed string `json:"installed,omitempty"`
	// Definitions is the version of the commands that the gates run and of how their output is read.
	Definitions    string        `json:"definitions"`
	Config         verify.Config `json:"config"`
	Protect        []string      `json:"protect,omitempty"`
	Allow          []string      `json:"allow,omitempty"`
	NoInstall      bool          `json:"no_install,omitempty"`
	InstallScripts bool          `json:"install_scripts,omitempty"`
	InstallAll     bool          `json:"install_all,omitempty"`
	Packages       []string      `json:"packages,omitempty"`
	// Model says that a model wrote the candidates; see gate.Rules.
	Model bool `json:"model,omitempty"`
	// Earlier is what test files held before the last promotions, by path, if tests were measured by that.
	Earlier map[string][]byte `json:"earlier,omitempty"`
	// Dependencies says in sentences what was done to install them and what could not be installed.
	Dependencies []string `json:"dependencies,omitempty"`
}

// A Keep says how much of the files that runs see is kept.
type Keep struct {
	Files bool
	// Bytes bounds the content kept of one workspace; 0 means 256 MiB.
	Bytes int64
	// Never says why nothing may be kept, whatever its size; "" if there is no reason.
	Never string
}

// The bounds of what is kept.
const (
	keepBytes    = 256 << 20
	keepFile     = 16 << 20 // of one file
	keepAtOnce   = 4 << 20  // of one batch that is sent, as long as each file is smaller
	keepCount    = 1000     // of the files that are sent, or asked for, at once
	keepDuration = 2 * time.Minute
)

// A Recording is what is kept of a run's workspace.
type Recording struct {
	// Inventory is the digest of the inventory's text. If nothing was kept it is "", and Lacking says why.
	Inventory, Lacking string
	// Contents are the digests of the files in the inventory, each listed once.
	Contents []string
	Files    int
	Bytes    int64
	Settings Settings
}

// A Recorder keeps what runs see. *store.DB implements it.
type Recorder interface {
	// Absent returns those of digests whose content is not kept yet.
	Absent(ctx context.Context, digests []string) ([]string, error)
	// SaveContents keeps contents by their digests.
	SaveContents(ctx context.Context, contents map[string][]byte) error
	// SaveRecording records what is kept for a run, which may have ended already.
	SaveRecording(ctx context.Context, id string, token int64, r Recording) error
}

// keepSeen keeps what the run saw, so that it can be replayed. An error is only a note, since the run has ended.
func (x *Execution) keepSeen(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, keepDuration)
	defer cancel()
	if err := x.saveRecording(ctx, x.seen.req, x.seen.stage); err != nil && ctx.Err() == nil {
		x.Notify(Event{Note: "the run cannot be replayed: " + err.Error()})
	}
}

// saveRecording keeps the files of a stage. It follows the run, so no verdict waits for it. If a file has changed since, its bytes are
// kept already if a run changed it; otherwise nothing is kept. What is read is compared with the digest that was judged.
func (x *Execution) saveRecording(ctx context.Context, req Request, st gate.Stage) error {
	rec := Recording{Settings: Settings{
		Toolchain: st.Tools.ID, Versions: st.Tools.Versions, Installed: st.Image.Installed, Definitions: verify.Definitions, Config: req.Config,
		Protect: req.Protect.Patterns(), Allow: req.Allow, NoInstall: req.NoInstall, InstallScripts: req.InstallScripts, InstallAll: req.InstallAll, Packages: req.Packages, Model: req.Rules().Model,
	}}
	for _, text := range slices.Concat(st.Dependencies.Told, st.Dependencies.Lacking) {
		rec.Settings.Dependencies = append(rec.Settings.Dependencies, x.Hide(text))
	}
	for _, e := range st.Base.Entries {
		if e.Kind != workspace.File {
			continue
		}
		rec.Files, rec.Bytes = rec.Files+1, rec.Bytes+e.Size
		if e.Size > keepFile {
			rec.Lacking = fmt.Sprintf("%s is larger than %d MiB", e.Path, keepFile>>20)
		}
	}
	if most := cmp.Or(req.Keep.Bytes, keepBytes); rec.Bytes > most {
		rec.Lacking = fmt.Sprintf("its files have %d bytes in total, more than the %d of record.bytes", rec.Bytes, most)
	}
	if !req.Keep.Files {
		rec.Lacking = "record.files is off"
	}
	if rec.Lacking = cmp.Or(req.Keep.Never, rec.Lacking); rec.Lacking == "" {
		var err error
		if rec.Inventory, rec.Contents, err = keepFiles(ctx, x.runner.Recorder, st.Base); err != nil {
			rec.Inventory, rec.Lacking = "", err.Error()
		}
	}
	if rec.Lacking == "" { // they are files of the workspace too
		x.mu.Lock()
		rec.Settings.Earlier = maps.Clone(x.earlier)
		x.mu.Unlock()
	}
	return x.runner.Recorder.SaveRecording(ctx, x.rec.ID, x.rec.Token, rec)
}

// keepFiles keeps the contents of a manifest, and then its inventory: if the inventory is there already, so is everything else.
func keepFiles(ctx context.Context, to Recorder, base *workspace.Manifest) (inventory string, contents []string, err error) {
	text, err := base.Inventory()
	if err != nil {
		return "", nil, err
	}
	paths := map[string]string{}
	for _, e := range base.Entries {
		if e.Kind == workspace.File {
			paths[e.Digest] = e.Path
		}
	}
	inventory, contents = workspace.Digest(text), slices.Sorted(maps.Keys(paths))
	if absent, err := to.Absent(ctx, []string{inventory}); err != nil || len(absent) == 0 {
		return inventory, contents, err
	}
	for some := range slices.Chunk(contents, keepCount) {
		absent, err := to.Absent(ctx, some)
		if err != nil {
			return "", nil, err
		}
		batch, size := map[string][]byte{}, 0
		for i, d := range absent {
			content, err := base.ReadFile(paths[d])
			if err != nil {
				return "", nil, err
			}
			batch[d], size = content, size+len(content)
			if size >= keepAtOnce || i == len(absent)-1 {
				if err := to.SaveContents(ctx, batch); err != nil {
					return "", nil, err
				}
				batch, size = map[string][]byte{}, 0
			}
		}
	}
	return inventory, contents, to.SaveContents(ctx, map[string][]byte{inventory: text})
}
