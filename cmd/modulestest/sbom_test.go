package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The list of what the programs are built from has every module in them, with its checksum, and is the same each time.
func TestEveryModuleOfAProgramIsInItsList(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var programs []string
	for _, name := range []string{"guest", "agent"} {
		programs = append(programs, filepath.Join(dir, name))
		build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(dir, name), "agent/cmd/"+name)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	listed := func() (texts [][]byte) {
		if exit, out := script(t, dir, nil, "sbom", append([]string{tool(t, "CYCLONEDX")}, programs...)...); exit != 0 {
			t.Fatal(out)
		}
		for _, program := range programs {
			text, err := os.ReadFile(program + ".cdx.json")
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
		return texts
	}
	texts := listed()
	for i, again := range listed() {
		if !bytes.Equal(texts[i], again) || bytes.Contains(again, []byte(`"timestamp"`)) || bytes.Contains(again, []byte(`"serialNumber"`)) {
			t.Errorf("%s: the list is another one the second time, or has a time", programs[i])
		}
		info, err := buildinfo.ReadFile(programs[i])
		if err != nil {
			t.Fatal(err)
		}
		var list struct {
			BOMFormat  string
			Components []struct {
				Name, Version string
				Hashes        []struct{ Alg, Content string }
			}
		}
		if err := json.Unmarshal(again, &list); err != nil || list.BOMFormat != "CycloneDX" {
			t.Fatalf("%q, %v", list.BOMFormat, err)
		}
		has := map[string]bool{}
		for _, c := range list.Components {
			has[c.Name+" "+c.Version] = len(c.Hashes) > 0 || c.Name == "std"
		}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			if !has[m.Path+" "+m.Version] {
				t.Errorf("%s: %s %s is not listed", programs[i], m.Path, m.Version)
			}
		}
		if !has["std "+info.GoVersion] || len(has) != len(info.Deps)+1 {
			t.Errorf("%s: %d modules are listed, and it has %d and %s", programs[i], len(has), len(info.Deps), info.GoVersion)
		}
	}
}
