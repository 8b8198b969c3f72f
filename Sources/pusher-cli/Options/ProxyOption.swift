import ArgumentParser
import Foundation

/// The way to a server, for every command that connects.
struct ProxyOption: ParsableArguments {
    @Option(help: "http://, socks5:// or socks5h:// proxy. Default: $https_proxy, $http_proxy, $all_proxy.")
    var proxy: String?

    private static let schemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]

    /// The empty text is no proxy, whatever the environment says.
    func validate() throws {
        guard let proxy, !proxy.isEmpty else { return }
        guard let url = URLComponents(string: proxy), let scheme = url.scheme?.lowercased(),
            Self.schemes.contains(scheme), url.host?.isEmpty == false
        else {
            // Without what was given: it may hold a password.
            throw ValidationError("--proxy must be a URL such as http://127.0.0.1:3128 or socks5h://127.0.0.1:1080.")
        }
    }
}
