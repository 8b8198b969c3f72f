/// Replaces ArgumentParser's check of how options are declared in debug builds: see `skipsArgumentChecks` in Package.swift.
@_cdecl("pusher_cli_checks_nothing")
func checkNothing() {}
