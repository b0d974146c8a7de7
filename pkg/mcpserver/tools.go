package mcpserver

import (
	"context"
	"time"

	"legwork/pkg/llm"
	"legwork/pkg/offload"
	"legwork/pkg/research"
)

// Verbs are the functions behind the tools; the command line calls the same ones. Each reads the
// configuration anew, so that a changed setting counts from the next call on.
type Verbs struct {
	Offload   func(ctx context.Context, req offload.Request, progress func(string)) (*offload.Result, error)
	Research  func(ctx context.Context, in ResearchInput, progress func(string)) (*research.Result, error)
	Delegate  func(ctx context.Context, in DelegateInput, progress func(string)) (string, error)
	Models    func(ctx context.Context) (string, error)
	Configure func(ctx context.Context, set, unset []string, scope string) (string, error)
	Complete  func(ctx context.Context, in Completion, progress func(string)) (*llm.Answer, error)
	// RegisterEndpoint and RegisterModel write the sidecar and probe at once.
	RegisterEndpoint func(ctx context.Context, in EndpointInput) (string, error)
	RegisterModel    func(ctx context.Context, in ModelInput) (string, error)
	RequestModel     func(ctx context.Context, model, why string) (string, error)

	Agent     func(ctx context.Context, in AgentInput, progress func(string)) (string, error)
	ResumeJob func(ctx context.Context, in ResumeInput, progress func(string)) (string, error)
	WaitJob   func(ctx context.Context, id string, waitS *float64, progress func(string)) (string, error)
	JobStatus func(ctx context.Context, id string) (string, error)
	JobLog    func(ctx context.Context, in JobLogInput) (string, error)
	ListJobs  func(ctx context.Context) (string, error)
	CancelJob func(ctx context.Context, id string) (string, error)

	// What the hooks call. Shrink returns nil to leave a result alone, Permission "" for no opinion.
	Session    *Session
	Shrink     func(ctx context.Context, in BashResult) (*Replacement, error)
	Failure    func(ctx context.Context, in BashResult) string
	Permission func(ctx context.Context, in PermissionInput) (verdict, reason string)
	Reread     func(ctx context.Context, in ReadResult)
}

// allTools is every tool there is.
func allTools() []tool {
	readOnly := hints{readOnly: true, idempotent: true}
	settings := hints{idempotent: true}
	return []tool{
		define("offload", "Offload to local model", hints{destructive: true, openWorld: true}, runOffload),
		define("offload_files", "Offload files to local model", readOnly, runOffloadFiles),
		define("research", "Research on the web", hints{readOnly: true, openWorld: true}, runResearch),
		define("delegate", "Delegate a file to local model", hints{destructive: true, openWorld: true}, runDelegate),
		define("run_agent", "Run agent on local model", hints{destructive: true, openWorld: true}, runAgent),
		define("resume_job", "Resume agent job", hints{destructive: true, openWorld: true}, runResume),
		define("wait_job", "Wait for job", readOnly, runWait),
		define("job_status", "Job status", readOnly, runStatus),
		define("job_log", "Job log", readOnly, runLog),
		define("list_jobs", "List jobs", readOnly, runList),
		define("cancel_job", "Cancel job", hints{destructive: true, idempotent: true}, runCancel),
		define("local_complete", "Ask local model", hints{}, runComplete),
		define("list_models", "List local models", readOnly, runModels),
		define("request_model", "Request local model", readOnly, runRequestModel),
		define("register_endpoint", "Register model server", settings, runRegisterEndpoint),
		define("register_model", "Register model", settings, runRegisterModel),
		define("configure", "legwork settings", settings, runConfigure),
		hook("hook_shrink", runShrink),
		hook("hook_failure", runFailure),
		hook("hook_permission", runPermission),
		hook("hook_reread", runReread),
	}
}

type offloadInput struct {
	Question string   `json:"question" jsonschema:"what you want to know"`
	Command  string   `json:"command,omitempty" jsonschema:"shell command to run; its output is read"`
	Files    []string `json:"files,omitempty" jsonschema:"paths, path:10-90 ranges or globs inside the project"`
	Raw      string   `json:"raw,omitempty" jsonschema:"id of earlier output, to ask again without running"`
	Model    string   `json:"model,omitempty"`
	Endpoint string   `json:"endpoint,omitempty"`
	Coverage string   `json:"coverage,omitempty" enum:"auto,full,focused" jsonschema:"full: the model reads everything"`
	TimeoutS float64  `json:"timeout_s,omitempty" jsonschema:"limit of the command in seconds"`
}

func runOffload(ctx context.Context, v *Verbs, in offloadInput, progress func(string)) (string, error) {
	req := offload.Request{
		Question: in.Question, Command: in.Command, Files: in.Files, Raw: in.Raw, Model: in.Model,
		Endpoint: in.Endpoint, Coverage: in.Coverage,
		Timeout: time.Duration(in.TimeoutS * float64(time.Second)),
	}
	return replyOffload(v.Offload(ctx, req, progress))
}

type offloadFilesInput struct {
	Question string   `json:"question" jsonschema:"what you want to know"`
	Files    []string `json:"files" jsonschema:"paths, path:10-90 ranges or globs inside the project"`
	Model    string   `json:"model,omitempty"`
	Endpoint string   `json:"endpoint,omitempty"`
	Coverage string   `json:"coverage,omitempty" enum:"auto,full,focused" jsonschema:"full: the model reads everything"`
}

func runOffloadFiles(ctx context.Context, v *Verbs, in offloadFilesInput, progress func(string)) (string, error) {
	if len(in.Files) == 0 {
		return "", &argumentError{"files: missing; give paths, path:10-90 ranges or globs inside the project"}
	}
	req := offload.Request{Question: in.Question, Files: in.Files, Model: in.Model, Endpoint: in.Endpoint, Coverage: in.Coverage}
	return replyOffload(v.Offload(ctx, req, progress))
}

func replyOffload(res *offload.Result, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return res.Text(), nil
}

// ResearchInput is one question for the web.
type ResearchInput struct {
	Question string   `json:"question" jsonschema:"what you want to know"`
	URLs     []string `json:"urls,omitempty" jsonschema:"pages to read"`
	Queries  []string `json:"queries,omitempty" jsonschema:"searches to make, default planned from the question"`
	Sources  int      `json:"sources,omitempty" jsonschema:"pages to read in full"`
	Rounds   int      `json:"rounds,omitempty" jsonschema:"searches at most"`
	Language string   `json:"language,omitempty"`
	Model    string   `json:"model,omitempty"`
}

func runResearch(ctx context.Context, v *Verbs, in ResearchInput, progress func(string)) (string, error) {
	res, err := v.Research(ctx, in, progress)
	if err != nil {
		return "", err
	}
	return res.Text(), nil
}

// Completion is one prompt for the local model.
type Completion struct {
	Prompt      string   `json:"prompt"`
	System      string   `json:"system,omitempty"`
	Model       string   `json:"model,omitempty"`
	Endpoint    string   `json:"endpoint,omitempty"`
	MaxTokens   int      `json:"max_tokens,omitempty" jsonschema:"limit of the answer in tokens"`
	Temperature *float64 `json:"temperature,omitempty"`
	Schema      string   `json:"schema,omitempty" jsonschema:"JSON schema the answer must satisfy"`
}

func runComplete(ctx context.Context, v *Verbs, in Completion, progress func(string)) (string, error) {
	ans, err := v.Complete(ctx, in, progress)
	if err != nil {
		return "", err
	}
	return CompletionText(ans), nil
}

type noInput struct{}

func runModels(ctx context.Context, v *Verbs, _ noInput, _ func(string)) (string, error) {
	return v.Models(ctx)
}

type requestModelInput struct {
	Model string `json:"model" jsonschema:"the model you need"`
	Why   string `json:"why,omitempty" jsonschema:"what for, for the user to read"`
}

func runRequestModel(ctx context.Context, v *Verbs, in requestModelInput, _ func(string)) (string, error) {
	return v.RequestModel(ctx, in.Model, in.Why)
}

// EndpointInput describes a server to register.
type EndpointInput struct {
	Name        string `json:"name" jsonschema:"what to call it"`
	BaseURL     string `json:"base_url" jsonschema:"e.g. http://gpu.lan:8000"`
	Backend     string `json:"backend,omitempty" enum:"auto,llama.cpp,vllm,ollama,lmstudio,openai,anthropic"`
	Host        string `json:"host,omitempty" jsonschema:"machine it runs on"`
	Notes       string `json:"notes,omitempty"`
	Concurrency int    `json:"concurrency,omitempty" jsonschema:"requests at once; 0: as the server says"`
	Scope       string `json:"scope,omitempty" enum:"user,project"`
}

func runRegisterEndpoint(ctx context.Context, v *Verbs, in EndpointInput, _ func(string)) (string, error) {
	return v.RegisterEndpoint(ctx, in)
}

// ModelInput describes what the user knows of a model.
type ModelInput struct {
	Name       string `json:"name" jsonschema:"name used in settings and arguments"`
	ServedName string `json:"served_name,omitempty" jsonschema:"id or glob as served"`
	Endpoint   string `json:"endpoint,omitempty"`
	Context    int    `json:"context,omitempty" jsonschema:"window in tokens"`
	Host       string `json:"host,omitempty"`
	Notes      string `json:"notes,omitempty"`
	BringUp    string `json:"bring_up,omitempty" jsonschema:"how the user starts it; shown, never run"`
	Scope      string `json:"scope,omitempty" enum:"user,project"`
}

func runRegisterModel(ctx context.Context, v *Verbs, in ModelInput, _ func(string)) (string, error) {
	return v.RegisterModel(ctx, in)
}

type configureInput struct {
	Set   []string `json:"set,omitempty" jsonschema:"changes, each key=value"`
	Unset []string `json:"unset,omitempty" jsonschema:"keys to give up"`
	Scope string   `json:"scope,omitempty" enum:"user,project"`
}

func runConfigure(ctx context.Context, v *Verbs, in configureInput, _ func(string)) (string, error) {
	return v.Configure(ctx, in.Set, in.Unset, in.Scope)
}

// ToolNames lists the tools a client sees.
func ToolNames() []string {
	var out []string
	for _, t := range allTools() {
		if !t.hidden {
			out = append(out, t.name)
		}
	}
	return out
}
