package release

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// An .mcpb bundle is a zip with a manifest.json, which clients such as Claude Desktop install with one click. It knows
// systems but no processors, so the bundles for Linux and macOS hold both binaries and the launcher that picks one.
// Everything in the manifest that the plugin's manifest says too is taken from there.

// bundleSystems are the systems with a bundle, as Go calls them.
var bundleSystems = []string{"darwin", "linux", "windows"}

func bundleName(v Version, system string) string { return fmt.Sprintf("legwork-%s-%s.mcpb", v, system) }

// icon is where clients look for the plugin's picture; packaging/icon.svg is its source.
const icon = ".claude-plugin/icon.png"

// pluginManifest is what we read of .claude-plugin/plugin.json.
type pluginManifest struct {
	Name        string          `json:"name"`
	Version     string          `json:"version"`
	Description string          `json:"description"`
	Author      json.RawMessage `json:"author"`
	License     string          `json:"license"`
	Keywords    []string        `json:"keywords"`
	MCPServers  map[string]struct {
		Env map[string]string `json:"env"`
	} `json:"mcpServers"`
	UserConfig map[string]json.RawMessage `json:"userConfig"`
}

// bundleManifest is a manifest.json of manifest_version 0.3.
type bundleManifest struct {
	ManifestVersion string                     `json:"manifest_version"`
	Name            string                     `json:"name"`
	DisplayName     string                     `json:"display_name"`
	Version         string                     `json:"version"`
	Description     string                     `json:"description"`
	Author          json.RawMessage            `json:"author"`
	Icon            string                     `json:"icon"`
	Server          bundleServer               `json:"server"`
	Tools           []bundleTool               `json:"tools"`
	Keywords        []string                   `json:"keywords"`
	License         string                     `json:"license"`
	Compatibility   map[string][]string        `json:"compatibility"`
	UserConfig      map[string]json.RawMessage `json:"user_config,omitempty"`
}

type bundleServer struct {
	Type       string    `json:"type"`
	EntryPoint string    `json:"entry_point"`
	MCPConfig  mcpConfig `json:"mcp_config"`
}

type mcpConfig struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env,omitempty"`
}

type bundleTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// platforms are the systems as bundles call them.
var platforms = map[string]string{"darwin": "darwin", "linux": "linux", "windows": "win32"}

// bundle packs the .mcpb for one system.
func (p *Project) bundle(system, bin string) ([]byte, error) {
	m, err := p.bundleManifest(system)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(m); err != nil {
		return nil, err
	}
	files, err := p.files("", "LICENSE", "README.md", "bin/legwork", icon)
	if err != nil {
		return nil, err
	}
	files[2].run = true
	files[3].name = m.Icon
	if system == "windows" {
		files = slices.Delete(files, 2, 3)
	}
	files = append([]content{{name: "manifest.json", data: text.Bytes()}}, files...)
	for _, t := range AllTargets {
		if t.OS != system {
			continue
		}
		b, err := os.ReadFile(filepath.Join(bin, t.File()))
		if err != nil {
			return nil, err
		}
		files = append(files, content{name: prebuilt + "/" + t.File(), run: true, data: b})
	}
	return zipped(files)
}

func (p *Project) bundleManifest(system string) (*bundleManifest, error) {
	text, err := os.ReadFile(p.path(manifest))
	if err != nil {
		return nil, err
	}
	var plugin pluginManifest
	if err := json.Unmarshal(text, &plugin); err != nil {
		return nil, fmt.Errorf("%s: %w", manifest, err)
	}
	tools, err := p.tools()
	if err != nil {
		return nil, err
	}
	m := &bundleManifest{
		ManifestVersion: "0.3", Name: plugin.Name, DisplayName: plugin.Name, Version: plugin.Version,
		Description: plugin.Description, Author: plugin.Author, License: plugin.License, Keywords: plugin.Keywords,
		Icon: "icon.png", Tools: tools, UserConfig: plugin.UserConfig,
		Compatibility: map[string][]string{"platforms": {platforms[system]}},
		Server: bundleServer{
			Type: "binary", EntryPoint: "bin/legwork",
			// sh, since unpacking may lose run bits; the launcher restores the binary's.
			MCPConfig: mcpConfig{Command: "sh", Args: []string{"${__dirname}/bin/legwork", "mcp"}, Env: plugin.MCPServers[plugin.Name].Env},
		},
	}
	if system == "windows" {
		m.Server.EntryPoint = prebuilt + "/" + Target{"windows", "amd64"}.File()
		m.Server.MCPConfig.Command, m.Server.MCPConfig.Args = "${__dirname}/"+m.Server.EntryPoint, []string{"mcp"}
	}
	return m, nil
}

// tools are the tools with what their descriptions begin with, for the client to show before it installs.
func (p *Project) tools() ([]bundleTool, error) {
	files, err := filepath.Glob(p.path("pkg/mcpserver/descriptions/*.md"))
	if err != nil {
		return nil, err
	}
	var out []bundleTool
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		first := strings.Join(strings.Fields(string(text)), " ")
		if i := strings.Index(first, ". "); i > 0 {
			first = first[:i+1]
		}
		out = append(out, bundleTool{strings.TrimSuffix(filepath.Base(file), ".md"), first})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no descriptions of tools below %s", p.path("pkg/mcpserver"))
	}
	return out, nil
}

// placeholder is the project's address in server.json, until a release knows the real one.
const (
	placeholder     = "https://github.com/OWNER/legwork"
	placeholderName = "io.github.OWNER/legwork"
)

var repository = regexp.MustCompile(`^https://(github|gitlab)\.com/([A-Za-z0-9][A-Za-z0-9-]*)/([A-Za-z0-9._-]+?)(\.git)?/?$`)

// registryEntry is server.json with the project's address and the checksums of the page's bundles.
func (p *Project) registryEntry(page Page, v Version) ([]byte, error) {
	m := repository.FindStringSubmatch(page.Repo)
	if m == nil {
		return nil, fmt.Errorf("%q is no address of a project; the registry takes bundles from https://github.com/OWNER/NAME or https://gitlab.com/OWNER/NAME", page.Repo)
	}
	text, err := os.ReadFile(p.path("server.json"))
	if err != nil {
		return nil, err
	}
	address := "https://" + m[1] + ".com/" + m[2] + "/" + m[3]
	filled := strings.NewReplacer(
		placeholderName, "io."+m[1]+"."+m[2]+"/"+m[3],
		`"source": "github"`, `"source": "`+m[1]+`"`,
		placeholder+"/releases/", map[string]string{"github": address + "/releases/", "gitlab": address + "/-/releases/"}[m[1]],
		placeholder, address,
	).Replace(string(text))
	for _, system := range bundleSystems {
		name := bundleName(v, system)
		sum, _, err := hashFile(filepath.Join(page.Dir, name))
		if err != nil {
			return nil, err
		}
		line := regexp.MustCompile(`("identifier": "[^"]*/` + regexp.QuoteMeta(url.PathEscape(name)) + `",)`)
		if !line.MatchString(filled) {
			return nil, fmt.Errorf("server.json does not name the bundle %s", name)
		}
		filled = line.ReplaceAllString(filled, "$1\n      \"fileSha256\": \""+sum+"\",")
	}
	return []byte(filled), nil
}
