package main

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/google/go-cmp/cmp"
)

// compose reads compose.yaml as the compose program does, with the content of .env.example and env.
func compose(t *testing.T, env ...string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join(root, "compose.yaml")}, cli.WithProfiles([]string{"agent"}),
		cli.WithEnvFiles(filepath.Join(root, ".env.example")), cli.WithEnv(append([]string{"PWD=/home/me/project"}, env...)), cli.WithDotEnv)
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

func TestComposeGivesTheSocketToTheAgentAlone(t *testing.T) {
	t.Parallel()
	p := compose(t, "AGENT_DOCKER_GID=998")
	if diff := cmp.Diff([]string{"agent", "postgres"}, slices.Sorted(maps.Keys(p.Services))); diff != "" {
		t.Fatalf("services (-want +got):\n%s", diff)
	}
	for name, s := range p.Services {
		uid, _, _ := strings.Cut(s.User, ":")
		if uid == "" || uid == "0" || !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || s.Privileged || s.HealthCheck == nil || s.PullPolicy != "never" ||
			!slices.Contains(s.SecurityOpt, "no-new-privileges:true") || s.MemLimit == 0 || s.PidsLimit == 0 {
			t.Errorf("%s is not hardened: %+v", name, s)
		}
		socket := slices.ContainsFunc(s.Volumes, func(v types.ServiceVolumeConfig) bool { return strings.HasSuffix(v.Source, "docker.sock") })
		if socket != (name == "agent") {
			t.Errorf("%s has the engine's socket: %v", name, socket)
		}
	}
	agent := p.Services["agent"]
	if agent.Image != "agent:current" || !slices.Contains(agent.GroupAdd, "998") || agent.WorkingDir != "/home/me/project" || agent.Pid != "host" {
		t.Errorf("the agent is %+v", agent)
	}
	if url := agent.Environment["AGENT_DATABASE_URL"]; url == nil || *url != "postgres://agent@/agent?host=/run/postgresql" {
		t.Errorf("its database is %v", url)
	}
	if on := agent.DependsOn["postgres"].Condition; on != types.ServiceConditionHealthy {
		t.Errorf("it waits for Postgres to be %q", on)
	}
	// Only Postgres comes up by itself.
	if slices.Contains(agent.Profiles, "") || len(agent.Profiles) != 1 || len(p.Services["postgres"].Profiles) != 0 {
		t.Errorf("profiles: %v, %v", agent.Profiles, p.Services["postgres"].Profiles)
	}
}

// No container may get a password, since `docker inspect` shows its environment, command and labels.
func TestComposeTellsTheEngineNoPassword(t *testing.T) {
	t.Parallel()
	p := compose(t, "AGENT_POSTGRES_PASSWORD=sesame", "POSTGRES_PASSWORD=sesame", "PGPASSWORD=sesame", "AGENT_DATABASE_URL=postgres://agent:sesame@127.0.0.1:5433/agent")
	text, err := p.MarshalYAML()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "sesame") || !strings.Contains(string(text), "/run/postgresql") {
		t.Errorf("the engine is told a password, or too little:\n%s", text)
	}
	// So the agent must connect through the socket, which only these two services have.
	for name, s := range p.Services {
		if !slices.ContainsFunc(s.Volumes, func(v types.ServiceVolumeConfig) bool {
			return v.Source == "socket" && v.Target == "/run/postgresql" && v.ReadOnly == (name == "agent")
		}) {
			t.Errorf("%s has not the socket: %+v", name, s.Volumes)
		}
	}
}
