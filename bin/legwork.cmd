@echo off
rem legwork for Windows: finds the legwork binary and runs it. Prints nothing to stdout, which belongs to the binary.
rem   1. %LEGWORK_BIN%, if set
rem   2. in a clone (.git) with a Go toolchain: a build of these sources, kept in the user's cache directory
rem   3. bin\prebuilt\legwork-windows-<arch>.exe
rem   4. no prebuilt binary: a build as in 2
rem `mcp` and `hook` do not compile when any binary can be used; go's own cache tells whether a build is up to date.
rem No brackets around a line with the arguments: one in an argument would close the block.
setlocal EnableExtensions DisableDelayedExpansion
if not defined LEGWORK_BIN goto :find
if "%LEGWORK_BIN%"=="" goto :find
set "LW_EXE=%LEGWORK_BIN%"
if exist "%LW_EXE%" goto :run
>&2 echo legwork: LEGWORK_BIN is %LEGWORK_BIN%, which is missing
exit /b 1

:find
for %%i in ("%~dp0..") do set "LW_ROOT=%%~fi"
set "LW_ARCH=amd64"
if /i "%PROCESSOR_ARCHITECTURE%"=="ARM64" set "LW_ARCH=arm64"
set "LW_PRE=%LW_ROOT%\bin\prebuilt\legwork-windows-%LW_ARCH%.exe"
rem Windows on ARM runs programs for x86-64 too.
if not exist "%LW_PRE%" set "LW_PRE=%LW_ROOT%\bin\prebuilt\legwork-windows-amd64.exe"
rem One build for each place: the path, without the characters that a name cannot hold.
set "LW_KEY=%LW_ROOT::=%"
set "LW_KEY=%LW_KEY:\=_%"
set "LW_BUILD=%LOCALAPPDATA%\legwork\build\%LW_KEY%\legwork.exe"
set "LW_WAIT="
if "%~1"=="mcp" set "LW_WAIT=1"
if "%~1"=="hook" set "LW_WAIT=1"

if not exist "%LW_ROOT%\.git" goto :prebuilt
if not exist "%LW_ROOT%\cmd\legwork" goto :prebuilt
if not defined LW_WAIT call :build
set "LW_EXE=%LW_BUILD%"
if exist "%LW_EXE%" goto :run

:prebuilt
set "LW_EXE=%LW_PRE%"
if exist "%LW_EXE%" goto :run
set "LW_EXE=%LW_BUILD%"
if exist "%LW_EXE%" goto :run
if "%~1"=="hook" exit /b 0
if exist "%LW_ROOT%\cmd\legwork" call :build
if exist "%LW_EXE%" goto :run
>&2 echo legwork: there is no binary for windows-%LW_ARCH% in %LW_ROOT%\bin\prebuilt, and none could be built.
>&2 echo Install Go 1.26 or later (https://go.dev/dl/) and start again, or set LEGWORK_BIN to a legwork binary.
exit /b 1

:run
"%LW_EXE%" %*
exit /b %ERRORLEVEL%

:build
where go >nul 2>nul || exit /b 1
setlocal
set "GOOS="
set "GOARCH="
set "GOFLAGS="
set "GOWORK=off"
set "CGO_ENABLED=0"
pushd "%LW_ROOT%" || exit /b 1
set "LW_FLAGS="
if exist buildflags set /p LW_FLAGS=<buildflags
go build -buildvcs=false -trimpath -ldflags "-s -w -funcalign=4" %LW_FLAGS% -o "%LW_BUILD%" .\cmd\legwork 1>&2 <nul
popd
endlocal
exit /b 0
