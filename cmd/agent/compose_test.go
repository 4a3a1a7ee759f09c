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

// compose reads compose.yaml as the compose program does, with what .env.example says and env.
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
	p := compose(t, "AGENT_POSTGRES_PASSWORD=secret", "AGENT_DOCKER_GID=998")
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
	if url := agent.Environment["AGENT_DATABASE_URL"]; url == nil || *url != "postgres://agent:secret@postgres:5432/agent?sslmode=disable" {
		t.Errorf("its database is %v", url)
	}
	if on := agent.DependsOn["postgres"].Condition; on != types.ServiceConditionHealthy {
		t.Errorf("it waits for Postgres to be %q", on)
	}
	// Postgres alone comes up by itself.
	if slices.Contains(agent.Profiles, "") || len(agent.Profiles) != 1 || len(p.Services["postgres"].Profiles) != 0 {
		t.Errorf("profiles: %v, %v", agent.Profiles, p.Services["postgres"].Profiles)
	}
}
