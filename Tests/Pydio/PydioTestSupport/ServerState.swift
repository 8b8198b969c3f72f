import Foundation

/// All that a server is and knows, as a value: a request goes in, an answer comes out.
struct ServerState: Sendable {
    var configuration: FakePydioServer.Configuration
    var sessions = SessionTable()
    var failures = LoginFailures()
    /// Users by the cookies that their logins are remembered by.
    var remembered: [String: String] = [:]
    /// What the newest captcha image shows.
    var captchaCode: String?
    var trees: [TreeKey: Tree] = [:]
    var bookmarks: [TreeKey: [String: [Bookmark]]] = [:]
    /// Public links by node, the oldest first.
    var shares: [TreeKey: [TreePath: [FakePydioLink]]] = [:]
    var chunkedDownloads: [String: ChunkedDownload] = [:]
    var mailboxes = Mailboxes()
    var messageCount = 0
    var changes = ChangeLog()
    var journal: ChangeJournal?
    /// All that was done, the oldest first.
    var activities: [Activity] = []
    var keyPairs = KeyPairs()
    var peers: [Int: Peer] = [:]
    var peerCount = 0
    /// Messages to be sent once the lock is free.
    var outbox: [(peer: Int, text: String)] = []
    /// All that came on WebSockets.
    var webSocketTexts: [String] = []
    /// Pings of the server that were answered.
    var pongCount = 0
    private var nodeCount = 0
    /// Added to the time of day.
    var clockOffset = 0

    var requests: [FakePydioRequest] = []
    var requestCounts: [String: Int] = [:]
    var faults = FaultTable()
    /// Where it is reached: scheme, host and port.
    var origin = ""

    init(_ configuration: FakePydioServer.Configuration) {
        self.configuration = configuration
        guard let journal = configuration.journal.flatMap(ChangeJournal.init) else { return }
        replay(journal.entries)
        self.journal = journal
    }

    var mode: FakePydioMode { configuration.mode }
    var now: Int { Int(Date().timeIntervalSince1970) + clockOffset }

    func user(_ id: String) -> FakePydioUser? { configuration.users.first { $0.id == id } }
    func workspace(_ id: String) -> FakePydioWorkspace? { configuration.workspaces.first { $0.id == id } }

    /// Those that a user has any right in.
    func workspaces(of user: FakePydioUser) -> [FakePydioWorkspace] {
        configuration.workspaces.filter { user.rights(in: $0.id) != nil }
            + (user.isAdministrator ? [FakePydioWorkspace.console] : [])
    }

    mutating func makeNodeID() -> Int {
        nodeCount += 1
        return nodeCount
    }

    func tree(_ key: TreeKey) -> Tree {
        trees[key] ?? Tree(hasRecycleBin: workspace(key.workspace)?.hasRecycleBin ?? false, now: now)
    }

    mutating func changeTree<Result>(_ key: TreeKey, _ body: (inout Tree) -> Result) -> Result {
        var tree = trees.removeValue(forKey: key) ?? tree(key)
        defer { trees[key] = tree }
        return body(&tree)
    }

    // MARK: Requests

    mutating func record(_ request: FakePydioRequest) {
        requestCounts[request.action ?? "", default: 0] += 1
        guard requests.count < configuration.historyLimit else { return }
        requests.append(request.abridged)
    }

    mutating func answer(to request: FakePydioRequest) -> FakePydioAnswer {
        let base = configuration.basePath
        guard request.rawPath.hasPrefix(base) else { return .notFound }
        switch String(request.rawPath.dropFirst(base.count)) {
        case "", "/", "/index.php": return sessionAnswer(to: request)
        case Self.loginPage: return .loginPage
        case let path where path.hasPrefix("/api/"): return restAnswer(to: request)
        case _: return .notFound
        }
    }

    static let loginPage = "/login.html"
}

extension FakePydioAnswer {
    static let notFound = html("<html><body><h1>404 Not Found</h1></body></html>", status: 404)
    package static let loginPage = html(
        #"<!DOCTYPE html><html><head><title>Sign in</title></head><body><form method="post"></form></body></html>"#)
}
