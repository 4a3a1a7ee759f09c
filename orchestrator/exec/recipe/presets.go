package recipe

// presets holds the known coding agents, by the names of their commands. Each was run offline against a server that plays its model.
// Updates and reports, which they are told to do without, could not leave the box anyway; switched off, they cost no time.
//
// The box is their sandbox, so none asks before it edits: nobody would be there to answer, and the gate judges what comes out.
var presets = map[string]Recipe{
	"claude": {
		NPM: []string{"@anthropic-ai/claude-code@2.1.332"}, Vendor: "anthropic",
		Bin: map[string]string{"claude": "@anthropic-ai/claude-code-linux-ARCH/claude"},
		Env: map[string]string{
			"ANTHROPIC_BASE_URL": "{gateway}", "ANTHROPIC_API_KEY": "{key}", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1",
			"DISABLE_AUTOUPDATER": "1", "IS_SANDBOX": "1",
		},
		Args: map[string][]string{"-p": {"--permission-mode", "bypassPermissions"}, "--print": {"--permission-mode", "bypassPermissions"}},
	},
	"codex": {
		NPM: []string{"@openai/codex@0.169.0"}, Vendor: "openai",
		Env: map[string]string{"AGENT_GATEWAY_KEY": "{key}"},
		Files: map[string]string{".codex/config.toml": `model_provider = "gateway"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.gateway]
name = "gateway"
base_url = "{gateway}/v1"
wire_api = "responses"
env_key = "AGENT_GATEWAY_KEY"
`},
		Args: map[string][]string{"exec": {"--skip-git-repo-check"}},
	},
	"gemini": {
		NPM: []string{"@google/gemini-cli@0.61.0"}, Vendor: "gemini",
		Env: map[string]string{"GEMINI_API_KEY": "{key}", "GOOGLE_GEMINI_BASE_URL": "{gateway}", "GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_TELEMETRY_ENABLED": "false"},
		Files: map[string]string{".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}},` +
			`"general":{"disableAutoUpdate":true,"enableAutoUpdate":false},"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false}}`},
		Args: map[string][]string{"-p": {"--approval-mode", "yolo"}, "--prompt": {"--approval-mode", "yolo"}},
	},
	"opencode": {
		NPM: []string{"opencode-ai@1.18.33"}, Vendor: "anthropic",
		Bin: map[string]string{"opencode": "opencode-linux-ARCH/bin/opencode"},
		Env: map[string]string{"ANTHROPIC_API_KEY": "{key}", "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"},
		Files: map[string]string{".config/opencode/opencode.json": `{"$schema":"https://opencode.ai/config.json","autoupdate":false,"share":"disabled",` +
			`"provider":{"anthropic":{"options":{"baseURL":"{gateway}/v1","apiKey":"{key}"}}}}`},
	},
	"qwen": {
		NPM: []string{"@qwen-code/qwen-code@0.24.4"}, Vendor: "compatible",
		Env: map[string]string{"OPENAI_API_KEY": "{key}", "OPENAI_BASE_URL": "{gateway}/v1"},
		Files: map[string]string{".qwen/settings.json": `{"security":{"auth":{"selectedType":"openai"}},` +
			`"general":{"disableAutoUpdate":true,"enableAutoUpdate":false},"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false}}`},
		Args: map[string][]string{"-p": {"--approval-mode", "yolo"}, "--prompt": {"--approval-mode", "yolo"}},
	},
}
