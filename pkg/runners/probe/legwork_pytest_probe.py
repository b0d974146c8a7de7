# A pytest plugin: what was collected, one line a test, one at the end of the session.
import json
import os

_OUT = @REPORT@
_seen = {}


def _write(**kw):
    kw["p"] = os.getpid()
    try:
        with open(_OUT, "a", encoding="utf-8") as f:
            f.write(json.dumps(kw) + "\n")
    except Exception:
        pass


def _worker(config):
    return hasattr(config, "workerinput")


def pytest_configure(config):
    if not _worker(config):
        _write(e="start")


def pytest_collection_finish(session):
    if not _worker(session.config) and session.items:
        _write(e="plan", n=len(session.items))


def pytest_runtest_logreport(report):
    if hasattr(report, "node") is False and os.environ.get("PYTEST_XDIST_WORKER"):
        return
    if report.when == "call" or report.outcome != "passed":
        outcome = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = "skipped" if report.skipped else "passed"
        if _seen.get(report.nodeid) == "failed":
            return
        if report.when == "teardown" and outcome == "passed":
            return
        _seen[report.nodeid] = outcome
        _write(e="test", id=report.nodeid, o=outcome, f=report.nodeid.split("::")[0])


def pytest_unconfigure(config):
    if not _worker(config):
        _write(e="finish")
