package shrink

import "testing"

// K10, K13: what was asked for line by line is not touched, whatever stands around it.
func TestHowACommandAsks(t *testing.T) {
	t.Parallel()
	for want, commands := range map[asked][]string{
		forLines: {
			"grep -n foo x.log", "head -50 x", "sed -n 1,80p main.go", "git diff", "git log --oneline", "git show HEAD:x", "git -C sub status", "git --no-pager log",
			"ls -la", "find . -name '*.go'", "wc -l *", "jq . x.json", "awk '{print $1}' f", "diff a b", "tail -500 app.log", "npm ls --all", "docker ps",
			"npm test | tail -20", "npm test 2>&1 | grep -v warning", "cd web && git diff", "cat x | grep y", "make 2>&1 | head", "LC_ALL=C grep x y",
			"timeout 10 grep -r x .", "sudo ls /root", "time find .", "nice -n 5 grep x f", "command ls", "/usr/bin/git log", "bash -c 'grep x f'", `sh -lc "git diff | cat"`,
			"git log | cat", "xargs grep foo < files", "find . | xargs wc -l", "ssh host 'ls -la /srv'", "docker exec web ls /srv", "kubectl get pods -o wide",
			"for f in *; do head -3 $f; done", "if true; then ls; fi", "while read l; do grep $l f; done < x", "(cd a; ls)", "{ ls; pwd; }", "case x in x) ls;; esac",
			"python3 -c 'print(1)'", "python3 - <<'EOF'\nprint(1)\nEOF", "node -e 'x()'", "python3 <<EOF\nprint(1)\nEOF", "perl -ne print x",
			"npm test --help", "pytest --collect-only -q", "jest --listTests", "go test -list . ./...", "go test -bench=. ./...", "cargo bench", "go tool cover -func c.out", "npm help", "make -n", "cargo tree", "go doc fmt", "gh pr diff 3", "terraform show", "env", "psql -c 'select 1'",
			"echo \"$(cat f)\"", "echo a; echo b", "true", "for i in 1 2; do echo $i; done", "function f() { ls; }; f", "if [", "unterminated 'quote", "", "x=1",
		},
		forContent: {
			"cat app.log", "bat x", "zcat app.log.gz", "docker logs web", "kubectl logs pod -f", "journalctl -u x", "cat app.log | cat", "docker exec web cat /var/log/x", "gh run view 3 --log",
		},
		forWork: {
			"npm test", "go test ./...", "cd web && npm test", "CI=1 npm test", "env CI=1 npm test", "timeout 600 make -j8", "time cargo build", "npm test 2>&1", "npm test | cat",
			"npm test | tee out.log", "make || true", "pytest; echo done", "bash -c 'npm test'", "bash -lc \"cd x && make\"", "git clone u", "git push origin main", "git -C x commit -m y",
			"go test $(go list ./... | grep -v vendor)", "VERSION=$(git describe) make", "source .venv/bin/activate && pytest", "set -e; make", "cat > x.c <<EOF\nint x;\nEOF\nmake",
			"grep -q x f && make", "sed -i s/a/b/ f && make", "ls > files.txt; make", "grep x y >/dev/null && make", "docker run --rm img pytest", "docker exec web npm test", "docker compose up --build",
			"npm run build", "yarn lint", "./run.sh", "python3 train.py", "python3 -m pytest", "node server.js", "npx jest", "uv run pytest", "xargs jest < files", "make test",
			"if ! make; then echo no; fi", "for p in a b; do make -C $p; done", "(cd a && make)", "npm ci &", "nohup make", "find . -name '*.test.js' | xargs jest", "cat data | ./bench", "! make", "mvn -q verify",
		},
	} {
		for _, c := range commands {
			if got := planOf(c).asked; got != want {
				t.Errorf("%q: %d, want %d", c, got, want)
			}
		}
	}
}

func TestExitIsOfTheWork(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{
		"npm test": true, "cd x && npm test": true, "CI=1 npm test": true, "time make": true, "bash -c 'make && make test'": true, "make 2>&1": true,
		"npm test | cat": false, "npm test; echo x": false, "npm test || true": false, "npm test &": false, "! make": false, "if make; then x; fi": false,
		"for p in a b; do make; done": false, "bash -c 'make; x'": false, "make\nmake test": false,
	} {
		if got := planOf(command).exit; got != want {
			t.Errorf("%q: %v", command, got)
		}
	}
}

func TestRawAndExcepted(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{
		"LEGWORK_RAW=1 npm test": true, "npm test # LEGWORK_RAW": true, "export LEGWORK_RAW=1; npm test": true, "env LEGWORK_RAW=1 npm test": true,
		"npm test": false, "LEGWORK_RAW=0 npm test": false,
	} {
		if got := raw(command); got != want {
			t.Errorf("%q: %v", command, got)
		}
	}
	patterns := []string{"make *", "npm ci", "*--verbose*", " "}
	for command, want := range map[string]bool{
		"make x/y": true, "make": false, "npm ci": true, "npm  ci --x": true, "npm cix": false, "cd a && make b": true, "bash -c 'npm ci'": true, "go test --verbose ./...": true, "go test": false,
	} {
		if got := excepted(patterns, command, planOf(command).parts); got != want {
			t.Errorf("%q: %v", command, got)
		}
	}
}

// Whatever stands in a command or an output, reading it ends and nothing breaks.
func FuzzReading(f *testing.F) {
	f.Add("cd x && npm test | tee out # LEGWORK_RAW", "Exit code 1\nnot ok 1 - a\n... [20011 characters truncated] ...\nb")
	f.Add("bash -c \"sh -c 'cat <<EOF\nx\nEOF'\"", "{\"a\":[1,2]}\n@@ -1 +1 @@\n")
	f.Add("for f in *; do ! { xargs -n1 env A=1 ls; }; done &", "a | b | c | d\n-rw-r--r-- 1 a b 1 c\n")
	f.Fuzz(func(_ *testing.T, command, text string) {
		excepted([]string{"a*b", "*", command}, text, planOf(command).parts)
		kindOf([]byte(text))
		Failure(command, text, len(text))
	})
}
