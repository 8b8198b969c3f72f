import ArgumentParser
import CommandKit
import PusherMockServer

/// The pages and host names that may use the auth endpoints from a browser.
struct OriginOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Let web pages of this origin, such as http://localhost:3000, use the auth endpoints; * allows every \
            origin, without credentials. Others are refused. May be repeated.
            """, valueName: "origin"))
    var allowOrigin: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            Let clients reach the auth endpoints by this host name, such as pusher.test; * allows every name. IP \
            addresses and localhost are always allowed. May be repeated.
            """, valueName: "name"))
    var allowHost: [String] = []

    func validate() throws {
        for origin in allowOrigin where origin != "*" && WebOrigin(origin) == nil {
            throw ValidationError(
                "--allow-origin must be \(WebOrigin.form), without a path, or *, not “\(TerminalText(origin).shortened.text)”."
            )
        }
        for host in allowHost where host != "*" && !BrowserGuard.isHost(host) {
            throw ValidationError(
                "--allow-host must be a host name without a port, or *, not “\(TerminalText(host).shortened.text)”.")
        }
    }
}
