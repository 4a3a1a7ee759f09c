package registries

import (
	"io/fs"
	"strings"
	"testing"
)

func TestSourcesAreTheUsersOwn(t *testing.T) {
	t.Parallel()
	const npmrc, goenv = "/h/.npmrc", "/h/.config/go/env"
	for name, c := range map[string]struct {
		env, files map[string]string
		registry   string
		proxy      string
		refused    string
	}{
		"nothing said": {registry: defaultNPM, proxy: defaultProxy},
		"environment before files": {
			env:      map[string]string{"NPM_CONFIG_REGISTRY": "https://a.example/npm/", "GOPROXY": "https://g.example,direct"},
			files:    map[string]string{npmrc: "registry=https://b.example\n", goenv: "GOPROXY=off\n"},
			registry: "https://a.example/npm", proxy: "https://g.example,direct",
		},
		"npm's own spelling": {env: map[string]string{"npm_config_registry": "http://c.example"}, registry: "http://c.example", proxy: defaultProxy},
		"files": {
			files: map[string]string{
				npmrc: "//b.example/:_authToken=secret\n@x:registry=https://x.example\n registry = \"https://b.example/\"\n",
				goenv: "GOFLAGS=-x\nGOPROXY=https://m.example|direct\n",
			},
			registry: "https://b.example", proxy: "https://m.example|direct",
		},
		"GOENV": {
			env: map[string]string{"GOENV": "/e"}, files: map[string]string{"/e": "GOPROXY=https://e.example\n", goenv: "GOPROXY=off\n"},
			registry: defaultNPM, proxy: "https://e.example",
		},
		"password for npm": {env: map[string]string{"NPM_CONFIG_REGISTRY": "https://u:secret@a.example"}, refused: "NPM_CONFIG_REGISTRY"},
		"password for Go":  {env: map[string]string{"GOPROXY": "https://ok.example,https://u:secret@a.example"}, refused: "GOPROXY"},
		"no address":       {env: map[string]string{"NPM_CONFIG_REGISTRY": "file:///secret"}, refused: "NPM_CONFIG_REGISTRY"},
	} {
		h := Host{func(key string) string {
			if key == "HOME" {
				return "/h"
			}
			return c.env[key]
		}, func(file string) ([]byte, error) {
			if text, ok := c.files[file]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		}}
		s, err := h.ForTools()
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), "set "+c.refused) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: the error is %v", name, err)
			}
			continue
		}
		if err != nil || s.NPM != c.registry || s.GoProxy != c.proxy || len(s.CA) != 0 {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

func TestTheUsersSettingsDecideWherePackagesComeFrom(t *testing.T) {
	t.Parallel()
	read := func(env map[string]string, files map[string]string) (Set, error) {
		return Host{func(n string) string { return env[n] }, func(p string) ([]byte, error) {
			if text, ok := files[p]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		}}.ForWorkspace()
	}
	m, err := read(nil, nil)
	if err != nil || m.PyPI != "https://pypi.org/simple" || m.GoProxy != "https://proxy.golang.org" || len(m.GoSums) != 0 {
		t.Errorf("%+v, %v", m, err)
	}
	m, err = read(map[string]string{"HOME": "/h", "GOPROXY": "https://p,direct", "GOSUMDB": "off"}, map[string]string{"/h/.config/pip/pip.conf": "[global]\nindex-url = https://i/simple\n"})
	if err != nil || m.PyPI != "https://i/simple" || m.GoProxy != "https://p,direct" || m.GoSums["GOSUMDB"] != "off" {
		t.Errorf("%+v, %v", m, err)
	}
	for _, bad := range []string{"file:///etc", "https://me:secret@i/simple"} {
		if _, err := read(map[string]string{"PIP_INDEX_URL": bad}, nil); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
