package shim_test

import (
	"context"
	"fmt"
	"strings"

	"legwork/pkg/shim"
)

// A shim for one job: the caller's probe fills the target, the client gets the environment.
func Example() {
	s, err := shim.New(shim.Target{
		Name: "gpu", BaseURL: "http://127.0.0.1:8000/v1", Kind: shim.VLLM, Route: shim.RouteNative,
		Model: "qwen-coder", Window: 65536, CountTokens: true,
	}, shim.Options{Token: "one-per-job"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close() }()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ln, err := shim.Listen(ctx, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, ln) }()
	// … run the client with s.Env(ln.Addr().String()) …
	for _, v := range s.Env("127.0.0.1:4321") {
		if strings.HasPrefix(v, "ANTHROPIC_BASE_URL") || strings.HasPrefix(v, "CLAUDE_CODE_MAX_CONTEXT") {
			fmt.Println(v)
		}
	}
	stop()
	fmt.Println(<-served)
	// Output:
	// ANTHROPIC_BASE_URL=http://127.0.0.1:4321
	// CLAUDE_CODE_MAX_CONTEXT_TOKENS=65536
	// <nil>
}
