import PusherProtocol

extension ChannelName {
    /// Creates a name as a server of `profile` interprets it.
    init(_ string: String, as profile: PusherMockServer.Profile) throws(InvalidChannelName) {
        try self.init(string)
        guard kind == .public else { return }
        switch profile.nameMatching {
        case .prefix: break
        case .anywhere:
            if string.contains("private-") || string.contains("presence-") { kind = .private }
            isCached = string.contains("cache-")
        case .withoutDash:
            if string.hasPrefix("private") { kind = .private }
            if string.hasPrefix("presence") { kind = .presence }
            isCached = ["cache", "private-cache", "presence-cache"].contains { string.hasPrefix($0) }
        }
    }
}
