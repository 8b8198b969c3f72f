import ArgumentParser
import PusherMockServer

/// Which pages in a browser may use the auth endpoints.
struct OriginOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Let web pages of this origin, such as http://localhost:3000, use the auth endpoints; * allows every \
            origin, without credentials. May be repeated.
            """, valueName: "origin"))
    var allowOrigin: [String] = []

    func validate() throws {
        for origin in allowOrigin where origin != "*" && WebOrigin(origin) == nil {
            throw ValidationError(
                "--allow-origin must be \(WebOrigin.form), without a path, or *, not “\(TerminalText(origin).shortened.text)”."
            )
        }
    }
}
