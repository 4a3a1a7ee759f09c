package run

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/policy"
)

// An Evidence is all that is recorded of a run which decided its verdict, so that it can
// be judged again where neither its workspace nor its record is. Contents are named by
// their SHA-256 in hex, and lie beside it.
type Evidence struct {
	Run       string         `json:"run"`
	Workspace string         `json:"workspace"`
	Intent    string         `json:"intent"`
	State     State          `json:"state"`
	Verdict   verify.Verdict `json:"verdict"`
	Started   time.Time      `json:"started"`
	Ended     time.Time      `json:"ended"`
	// Approved says who let the promotion pass, "" where nothing was promoted.
	Approved string `json:"approved,omitempty"`
	// Snapshot is the digest of the workspace's manifest, Inventory that of the text
	// which workspace.Rebuild takes.
	Snapshot   string     `json:"snapshot"`
	Inventory  string     `json:"inventory"`
	Settings   Settings   `json:"settings"`
	Candidates []Exhibit  `json:"candidates"`
	Exchanges  []Exchange `json:"exchanges,omitempty"`
}

// Settings are what decides a verdict beside the workspace and the patch.
type Settings struct {
	// Toolchain is the ID of the image with the tools, Versions what was in it.
	Toolchain string            `json:"toolchain"`
	Versions  map[string]string `json:"versions"`
	// Installed names the dependencies that were installed, "" for none.
	Installed string `json:"installed,omitempty"`
	// Definitions is the version of what the gates run, and how they read it.
	Definitions    string        `json:"definitions"`
	Config         verify.Config `json:"config"`
	Protect        []string      `json:"protect,omitempty"`
	Allow          []string      `json:"allow,omitempty"`
	NoInstall      bool          `json:"no_install,omitempty"`
	InstallScripts bool          `json:"install_scripts,omitempty"`
}

// An Exhibit is a recorded candidate.
type Exhibit struct {
	Verdict verify.Verdict `json:"verdict"`
	Gates   []verify.Gate  `json:"gates"`
	Holds   []policy.Hold  `json:"holds"`
	// Unproven is null in archives of runs from before it was kept.
	Unproven []verify.Unproven `json:"unproven"`
	// Digest is that of the changeset as it was judged, Files what it changed.
	Digest string        `json:"digest"`
	Files  []ExhibitFile `json:"files"`
	// Response is the digest of what the candidate was made of; see Origin.
	Response string `json:"response"`
	Target   string `json:"target,omitempty"`
	Onto     string `json:"onto,omitempty"`
	Asked    string `json:"asked,omitempty"`
}

// An ExhibitFile is one change of a candidate; the digests of its contents are "" where
// there is none.
type ExhibitFile struct {
	Op      workspace.Op `json:"op"`
	Path    string       `json:"path"`
	From    string       `json:"from,omitempty"`
	Mode    fs.FileMode  `json:"mode"`
	OldMode fs.FileMode  `json:"old_mode,omitempty"`
	Before  string       `json:"before,omitempty"`
	After   string       `json:"after,omitempty"`
}

// An Exchange is one request to a model, and its answer.
type Exchange struct {
	Step     string          `json:"step"`
	Model    string          `json:"model"`
	Question json.RawMessage `json:"question"`
	// Answer is nil where none came.
	Answer []byte `json:"answer"`
}

// An Origin is what a candidate was made of.
type Origin struct {
	Response []byte
	// Target is the file that a block without a name means.
	Target string
	// Onto is the digest of the changeset that the response came on top of, the empty
	// one included; "" where it was applied to the workspace itself.
	Onto string
	// Asked is the digest of the changeset before the gates, "" where the response
	// gave none.
	Asked string
}

// A Keep says how much of the files that runs see is kept.
type Keep struct {
	Files bool
	// Bytes bounds the content of one workspace; 0 means 256 MiB.
	Bytes int64
	// Never is why nothing may be kept whatever its size, "" for nothing.
	Never string
}

// The bounds of what is kept.
const (
	keepBytes    = 256 << 20
	keepFile     = 16 << 20 // of one file
	keepAtOnce   = 4 << 20  // of what is sent in one go, as long as each file is smaller
	keepCount    = 1000     // of the files that are sent, or asked for, in one go
	keepDuration = 2 * time.Minute
)

// A Recording is what is kept of the workspace of a run.
type Recording struct {
	// Inventory is the digest of the text, "" where nothing was kept, and then
	// Lacking says why.
	Inventory, Lacking string
	// Contents are the digests of the files in the inventory, each once.
	Contents []string
	Files    int
	Bytes    int64
	Settings Settings
}

// A Recorder keeps what runs see. *store.DB is one.
type Recorder interface {
	// Absent returns those of the digests that there is no content of.
	Absent(ctx context.Context, digests []string) ([]string, error)
	// SaveContents keeps contents by their digests.
	SaveContents(ctx context.Context, contents map[string][]byte) error
	// SaveRecording records what is kept for a run, which may have ended.
	SaveRecording(ctx context.Context, id string, token int64, r Recording) error
}

// keep keeps the files of a stage. It comes after the run, whose verdict waits for
// nothing of it; of a file that changed since, the bytes are there already when a run
// changed it, and else nothing is kept. What was read is compared with the digest that
// was judged.
func (f *flight) keep(ctx context.Context, req Request, st stage) error {
	rec := Recording{Settings: Settings{
		Toolchain: st.tools.ID, Versions: st.tools.Versions, Installed: st.image.Installed, Definitions: verify.Definitions, Config: req.Config,
		Protect: req.Protect.Patterns(), Allow: req.Allow, NoInstall: req.NoInstall, InstallScripts: req.InstallScripts,
	}}
	for _, e := range st.base.Entries {
		if e.Kind != workspace.File {
			continue
		}
		rec.Files, rec.Bytes = rec.Files+1, rec.Bytes+e.Size
		if e.Size > keepFile {
			rec.Lacking = fmt.Sprintf("%s is larger than %d MiB", e.Path, keepFile>>20)
		}
	}
	if most := cmp.Or(req.Keep.Bytes, keepBytes); rec.Bytes > most {
		rec.Lacking = fmt.Sprintf("its files are %d bytes together, more than the %d of record.bytes", rec.Bytes, most)
	}
	if !req.Keep.Files {
		rec.Lacking = "record.files is off"
	}
	if rec.Lacking = cmp.Or(req.Keep.Never, rec.Lacking); rec.Lacking == "" {
		var err error
		if rec.Inventory, rec.Contents, err = keepFiles(ctx, f.Recorder, st.base); err != nil {
			rec.Inventory, rec.Lacking = "", err.Error()
		}
	}
	return f.Recorder.SaveRecording(ctx, f.rec.ID, f.rec.Token, rec)
}

// keepFiles keeps the contents of a manifest, and then its inventory: where that is
// there already, so is everything else.
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
