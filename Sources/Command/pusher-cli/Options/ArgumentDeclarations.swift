/// What a debug build calls in place of ArgumentParser's check of how options are declared: see Package.swift.
@_cdecl("pusher_cli_checks_nothing")
func checkNothing() {}
