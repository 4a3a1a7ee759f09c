package agent

import (
	"path"
	"strings"
)

// languages are the names by which prompts call what a file is written in.
var languages = map[string]string{
	".py": "python", ".pyi": "python", ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascript",
	".ts": "typescript", ".tsx": "typescript", ".html": "html", ".css": "css", ".json": "json", ".sh": "bash", ".md": "markdown",
	".go": "go", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".rs": "rust", ".sql": "sql",
}

// Language names the language of a file by its extension: "text" for one that
// is not known.
func Language(name string) string {
	if l, ok := languages[strings.ToLower(path.Ext(name))]; ok {
		return l
	}
	return "text"
}
