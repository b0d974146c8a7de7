package e2e_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// fakeServer marks the processes that play our server in a plugin made by fakePlugin.
const fakeServer = "LEGWORK_E2E_FAKE"

// fakePlugin is the plugin with this test binary in place of the server, for troubles that the real one must not have.
func fakePlugin(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in server is started by a shell script")
	}
	dir := plugin(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = mcp ] || exit 0\n%s=1 exec '%s' -test.run='^TestFakeServer$'\n", fakeServer, self)
	file := filepath.Join(dir, "bin/prebuilt", "legwork-"+runtime.GOOS+"-"+runtime.GOARCH)
	if err := os.WriteFile(file, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// troubles are what the stand-in answers to the hook of a command whose text holds the word.
var troubles = []struct{ word, reply string }{
	{"garbage", `"result":{"content":[{"type":"text","text":"this is no JSON"}]}`},
	{"shape", `"result":{"content":[{"type":"text","text":"{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\",\"updatedToolOutput\":\"lost\"}}"}]}`},
	{"empty", `"result":{"content":[]}`},
	{"failing", `"result":{"isError":true,"content":[{"type":"text","text":"it broke"}]}`},
	{"refusing", `"error":{"code":-32603,"message":"it broke"}`},
	{"slow", ""},  // answers after the hook's own limit
	{"dying", ""}, // ends instead
}

// TestFakeServer is that server; it tests nothing by itself.
func TestFakeServer(t *testing.T) {
	if os.Getenv(fakeServer) == "" {
		t.Skip("runs only as the server of a plugin")
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		m := gjson.ParseBytes(in.Bytes())
		if m.Get("id").Exists() {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.Get("id").Raw, fakeReply(m))
		}
	}
	os.Exit(0)
}

func fakeReply(m gjson.Result) string {
	switch m.Get("method").Str {
	case "initialize":
		return fmt.Sprintf(`"result":{"protocolVersion":%s,"capabilities":{"tools":{}},"serverInfo":{"name":"legwork","version":"0"}}`, m.Get("params.protocolVersion").Raw)
	case "tools/list":
		return `"result":{"tools":[]}`
	case "tools/call":
	default:
		return `"error":{"code":-32601,"message":"unknown"}`
	}
	command := m.Get("params.arguments.command").Str
	for _, trouble := range troubles {
		if !strings.Contains(command, trouble.word) {
			continue
		}
		switch trouble.word {
		case "dying":
			os.Exit(1)
		case "slow":
			_ = os.WriteFile(filepath.Join(m.Get("params.arguments.dir").Str, "called"), nil, 0o600)
			time.Sleep(20 * time.Second)
		default:
			return trouble.reply
		}
	}
	return `"result":{"content":[{"type":"text","text":"{}"}]}`
}
