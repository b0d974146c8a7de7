// Package config reads the settings of legwork: one YAML schema, in layers, read again on every call.
//
// Later layers win, value by value:
//
//	built-in
//	$XDG_CONFIG_HOME/legwork/config.yaml    written by hand
//	  config.local.yaml beside it           written by tools
//	<git root>/.legwork.yaml                written by hand (or ./models.yaml, or the file named by --config)
//	<git root>/.legwork.local.yaml          written by tools
//	LEGWORK_<KEY>                           environment, dots as underscores
//
// Rules: hand-written files are never rewritten; every value knows where it came from; an unknown key or a bad
// value is a [Warning] and is not used; a file that is not YAML is an error with file and line. The files of a
// project may only tune until the user trusts them (see [Trust]). A secret has type [Secret], which never
// prints itself.
//
// Pitfall: endpoints keep the order of their first appearance over all layers, because order is priority. A
// later layer changes the fields of an endpoint, not its place.
package config

import (
	"strings"
	"time"
)

// Config is the merged result of all layers. It is plain data, made by [Load] and not changed afterwards.
type Config struct {
	Endpoints []Endpoint // in order of priority; empty when nothing is configured (see Servers)
	Models    []Model    // in order of first appearance

	Defaults Defaults `cfg:"defaults"`
	LLM      LLM      `cfg:"llm"`
	Offload  Offload  `cfg:"offload"`
	Research Research `cfg:"research"`
	Delegate Delegate `cfg:"delegate"`
	Agent    Agent    `cfg:"agent"`
	Store    Store    `cfg:"store"`
	AutoUse  []string `cfg:"auto_use" default:"offload, research" enum:"offload,offload_files,research,delegate,run_agent,local_complete" tune:"yes" doc:"tools Claude is told to use on its own"`
	Shrink   Shrink   `cfg:"shrink" short:"mode"`
	Stats    Stats    `cfg:"stats"`

	// Project says what the project contributes and whether it is trusted.
	Project Project
	// Warnings lists what was not used and why, in the order of the layers.
	Warnings []Warning
	// UserFile and UserSidecar are the two files of the user layer (they need not exist; empty when the
	// user has no configuration directory).
	UserFile, UserSidecar string

	origins map[string]Origin
	redact  func() *strings.Replacer // made on first use; nil in a Config made by hand
}

// Endpoint is one server or gateway. What it serves is probed, not configured.
type Endpoint struct {
	Name        string            `json:"name"`
	BaseURL     string            `cfg:"base_url" kind:"url" creds:"api_key,api_key_env,headers,env" doc:"root of the server, with or without /v1"`
	Backend     string            `cfg:"backend" kind:"backend" default:"auto" doc:"llama.cpp, vllm, ollama, lmstudio, openai, anthropic or auto (probed)"`
	Host        string            `cfg:"host" doc:"machine the server runs on, for messages to you"`
	Notes       string            `cfg:"notes" doc:"free text shown with the endpoint"`
	Headers     map[string]Secret `cfg:"headers" doc:"extra HTTP headers"`
	APIKey      Secret            `cfg:"api_key" doc:"sent as bearer token or x-api-key"`
	APIKeyEnv   string            `cfg:"api_key_env" kind:"keyvar" doc:"variable that holds the key instead: LEGWORK_API_KEY (the plugin's option) or LEGWORK_API_KEY_WORD"`
	Env         map[string]Secret `cfg:"env" doc:"extra environment of agent sessions on this endpoint"`
	Concurrency int               `cfg:"concurrency" min:"0" max:"1024" tune:"yes" doc:"requests in flight; 0 = the server's own slots, else 4"`
}

// Model is what the user knows about a model. Name is matched against what is served; every field is optional.
type Model struct {
	Name       string `json:"name"`
	Notes      string `cfg:"notes" doc:"free text shown when the model is asked for"`
	Host       string `cfg:"host" doc:"machine it runs on"`
	ServedName string `cfg:"served_name" tune:"yes" doc:"id or glob under which servers list it"`
	Endpoint   string `cfg:"endpoint" tune:"yes" doc:"name of the endpoint that serves it"`
	Context    int    `cfg:"context" min:"0" max:"100000000" tune:"yes" doc:"context window in tokens; 0 = probed"`
	BringUp    string `cfg:"bring_up" doc:"how to start it, shown to you; legwork never runs it"`
	Policy     string `cfg:"policy" tune:"yes" doc:"attempt policy of delegate for this model"`
}

// Defaults are the settings of agent sessions; Model is the default of every tool.
type Defaults struct {
	Model              string        `cfg:"model" tune:"yes" doc:"model of every tool that names none; empty = the only one served"`
	PermissionMode     string        `cfg:"permission_mode" default:"acceptEdits" enum:"default,acceptEdits,plan,dontAsk,auto,bypassPermissions" doc:"permission mode of agent sessions"`
	AllowedTools       []string      `cfg:"allowed_tools" default:"Read, Edit, Write, Glob, Grep, Bash, WebFetch" doc:"tools an agent session may use"`
	DisallowedTools    []string      `cfg:"disallowed_tools" default:"Agent, Task" doc:"tools an agent session may not use"`
	SettingSources     []string      `cfg:"setting_sources" default:"project, local" enum:"user,project,local" doc:"Claude Code settings an agent session loads"`
	MaxTurns           int           `cfg:"max_turns" default:"60" min:"1" max:"10000" tune:"yes" doc:"turns of an agent session"`
	Timeout            time.Duration `cfg:"timeout" default:"30m" min:"1s" max:"168h" tune:"yes" doc:"time limit of an agent session"`
	SystemPromptAppend string        `cfg:"system_prompt_append" default:"Work only on the task you were given. Check what you changed (build, tests) before you finish. End with a short report: files changed, how you checked them, what is left." doc:"added to the system prompt of agent sessions"`
	DumpRequests       bool          `cfg:"dump_requests" default:"false" doc:"keep full request bodies of agent sessions on disk"`
}

// LLM are the settings of every request to a model.
type LLM struct {
	AnswerTokens     int           `cfg:"answer_tokens" default:"8192" min:"1" max:"1000000" tune:"yes" doc:"limit of an answer, in tokens"`
	NumCtx           int           `cfg:"num_ctx" default:"0" min:"0" max:"100000000" tune:"yes" doc:"cap of the window asked from Ollama; 0 = as needed"`
	KeepAlive        string        `cfg:"keep_alive" kind:"keepalive" tune:"yes" doc:"how long Ollama keeps a model loaded, e.g. 30m or -1; empty = its default"`
	FirstByteTimeout time.Duration `cfg:"first_byte_timeout" default:"10m" min:"1s" max:"24h" tune:"yes" doc:"wait for the first byte of an answer"`
	IdleTimeout      time.Duration `cfg:"idle_timeout" default:"2m" min:"1s" max:"24h" tune:"yes" doc:"longest silence within an answer"`
	Concurrency      int           `cfg:"concurrency" default:"0" min:"0" max:"1024" tune:"yes" doc:"requests in flight per endpoint; 0 = the server's own slots, else 4"`
	ProbeTimeout     time.Duration `cfg:"probe_timeout" default:"2.5s" min:"50ms" max:"5m" tune:"yes" doc:"limit of a probe"`
}

// Offload are the settings of the offload tools.
type Offload struct {
	Model          string        `cfg:"model" tune:"yes" doc:"model of offload; empty = defaults.model"`
	AnswerTokens   int           `cfg:"answer_tokens" default:"2048" min:"1" max:"1000000" tune:"yes" doc:"limit of an answer, in tokens"`
	Coverage       string        `cfg:"coverage" default:"auto" enum:"auto,full,focused" tune:"yes" doc:"how much of the material the model reads"`
	CommandTimeout time.Duration `cfg:"command_timeout" default:"10m" min:"1s" max:"168h" tune:"yes" doc:"time limit of a command"`
	Commands       string        `cfg:"commands" default:"rules" enum:"rules,never" doc:"rules = commands obey your Bash permission rules; never = no commands"`
	MaskSecrets    bool          `cfg:"mask_secrets" default:"true" doc:"hide keys and tokens in answers, logs and dumps"`
}

// Research are the settings of the research tool.
type Research struct {
	Model      string `cfg:"model" tune:"yes" doc:"model of research; empty = defaults.model"`
	Sources    int    `cfg:"sources" default:"5" min:"1" max:"20" tune:"yes" doc:"pages read for a question"`
	Rounds     int    `cfg:"rounds" default:"2" min:"1" max:"10" tune:"yes" doc:"rounds of searching"`
	SearxngURL string `cfg:"searxng_url" kind:"urls" creds:"searxng_headers" doc:"SearXNG instance to search with; several, by commas, are tried in order"`
	// SearxngHeaders are for a proxy in front of SearXNG that wants a password. See SearchHeaders.
	SearxngHeaders map[string]Secret `cfg:"searxng_headers" doc:"extra HTTP headers of a search, for the host of the first address only"`
	BraveAPIKey    Secret            `cfg:"brave_api_key" doc:"key of the Brave search API"`
	TavilyAPIKey   Secret            `cfg:"tavily_api_key" doc:"key of the Tavily search API"`
	PageTimeout    time.Duration     `cfg:"page_timeout" default:"15s" min:"100ms" max:"10m" tune:"yes" doc:"time limit of one page"`
	AllowHosts     []string          `cfg:"allow_hosts" doc:"private hosts that may be read all the same"`
	Robots         bool              `cfg:"robots" default:"true" doc:"obey robots.txt"`
}

// Delegate are the settings of the delegate tool.
type Delegate struct {
	Model       []string      `cfg:"model" tune:"yes" doc:"one model, or a list from small to big (escalation); empty = defaults.model"`
	Attempts    int           `cfg:"attempts" default:"3" min:"1" max:"20" tune:"yes" doc:"attempts before giving up"`
	Policy      string        `cfg:"policy" default:"default" tune:"yes" doc:"attempt policy"`
	Candidates  int           `cfg:"candidates" default:"1" min:"1" max:"16" tune:"yes" doc:"samples per attempt"`
	TestTimeout time.Duration `cfg:"test_timeout" default:"10m" min:"1s" max:"168h" tune:"yes" doc:"time limit of a test run"`
	Sandbox     string        `cfg:"sandbox" default:"auto" enum:"auto,on,off" doc:"run the test in a sandbox"`
	LinkDirs    []string      `cfg:"link_dirs" kind:"relpaths" default:"node_modules, .venv, venv, vendor" tune:"yes" doc:"directories linked into a worktree"`
}

// Agent are the settings of run_agent that are not passed on to the session.
type Agent struct {
	Claude         string `cfg:"claude" doc:"path of the claude program; empty = found"`
	Tools          string `cfg:"tools" default:"lean" enum:"lean,full" doc:"tool set of a session: lean keeps the prompt short"`
	VerifyAttempts int    `cfg:"verify_attempts" default:"3" min:"1" max:"20" tune:"yes" doc:"rounds of a verify command"`
}

// Store limits what is kept on disk.
type Store struct {
	RawMax      Bytes         `cfg:"raw_max" default:"500MB" min:"0" max:"1TB" doc:"size of the kept raw output"`
	RawAge      time.Duration `cfg:"raw_age" default:"7d" min:"1m" max:"3650d" doc:"age of the kept raw output"`
	WorktreeAge time.Duration `cfg:"worktree_age" default:"24h" min:"1m" max:"3650d" doc:"age at which an empty worktree of ours is removed"`
	Ledger      bool          `cfg:"ledger" default:"true" doc:"keep a line per run for the statistics"`
}

// Shrink are the settings of Bash output that shrinks by itself.
type Shrink struct {
	Mode   string   `cfg:"mode" default:"safe" enum:"off,safe,on" tune:"yes" doc:"off, safe (only when sure) or on"`
	Above  int      `cfg:"above" default:"6000" min:"500" max:"10000000" tune:"yes" doc:"characters below which nothing is shortened"`
	Except []string `cfg:"except" tune:"yes" doc:"commands never touched, as patterns"`
}

// Stats are the assumptions of the savings estimate. Prices are in that of an uncached input token of Claude's.
type Stats struct {
	CacheWrite   float64 `cfg:"cache_write" default:"1.25" min:"0" max:"1000" doc:"price of a token that enters Claude's cache, in uncached input tokens"`
	CacheRead    float64 `cfg:"cache_read" default:"0.1" min:"0" max:"1000" doc:"price of a token read from the cache"`
	Output       float64 `cfg:"output" default:"5" min:"0" max:"1000" doc:"price of a token Claude writes"`
	LaterTurns   float64 `cfg:"later_turns" default:"10" min:"0" max:"10000" doc:"turns of a session after a call, each of which reads its answer again"`
	Turns        float64 `cfg:"turns" default:"50" min:"1" max:"10000" doc:"turns of a whole session"`
	PrefixTokens int     `cfg:"prefix_tokens" default:"0" min:"0" max:"100000" doc:"our share of every request, in tokens; 0 = counted from the tools and texts as they are"`
	SearchCost   float64 `cfg:"search_cost" default:"1800" min:"0" max:"1000000" doc:"paid once by a session that uses a tool which is not in auto_use"`
}

// Project is the project layer as it was found.
type Project struct {
	Root    string        // git root, or the working directory outside a repository
	Sidecar string        // the file tools write for this project
	Files   []ProjectFile // the files that exist, in layer order
}

// ProjectFile is one file of the project layer.
type ProjectFile struct {
	Path    string `json:"path"`
	Trusted bool   `json:"trusted"`
	// Ignored lists the keys that were not used because the file is not trusted.
	Ignored []string `json:"ignored"`
}

// Origin says where a value came from. The zero Origin is the built-in default.
type Origin struct {
	File string `json:"file,omitempty"` // absolute path
	Line int    `json:"line,omitempty"` // from 1
	Env  string `json:"env,omitempty"`  // name of the variable
}

// Warning is one thing in the configuration that was not used, or not as written.
type Warning struct {
	Key    string `json:"key"` // dotted; may be empty
	Origin Origin `json:"origin"`
	Text   string `json:"text"` // what is wrong and what would work; holds no secret
}
