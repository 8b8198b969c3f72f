import Basics
package import TestSupport

/// Which generation of servers a ``FakePydioServer`` copies.
package enum FakePydioMode: String, Sendable, CaseIterable {
    /// 5.2: one secure token a session, WebSockets of its own script.
    case v5_2 = "5.2"
    /// 8: several secure tokens, REST with key pairs, `pydio-booster`.
    case v8 = "8"
}

extension FakePydioServer {
    /// What a server is like. Each switch can also be set while it runs, with ``FakePydioServer/configure(_:)``.
    package struct Configuration: Sendable {
        package var mode: FakePydioMode
        /// A path such as `/pydio`, below which everything lies; empty is the root.
        package var basePath = ""
        package var host = "127.0.0.1"
        package var port = 0
        /// A file that nodes and the numbers of changes are kept in, for the next process.
        package var journal: String?
        /// With it, TLS is spoken.
        package var tls: CertificateAuthority.Leaf?
        package var users: [FakePydioUser]
        package var workspaces: [FakePydioWorkspace]
        package var seedForm: SeedForm
        /// Failed logins of an address, the last of which is answered with -4; nil asks for no captcha.
        package var captchaAfter: Int? = 3
        /// What every captcha image shows; nil makes up another one each time.
        package var captchaCode: String?
        /// A value that every login is answered with, whatever is right.
        package var loginValue: Int?
        /// Entries above which a folder is listed in pages, and entries of a page.
        package var pageThreshold = 500
        package var pageSize = 200
        package var hasPolling = true
        /// Seconds that clients are told to poll after.
        package var pollerFrequency = 15
        /// How long a mailbox is kept that nobody asks for.
        package var mailboxExpiry: Duration = .seconds(600)
        package var hasWebSocket = false
        /// How often the newer WebSocket server pings, and how long it lives without an answer.
        package var webSocketPing: Duration = .seconds(54)
        package var webSocketPatience: Duration = .seconds(60)
        /// Cuts each WebSocket message of the newer server in two lines, hence frames.
        package var splitsWebSocketMessages = false
        package var hasChanges = true
        /// Some database drivers give numbers as strings.
        package var changesHaveStrings = true
        package var hasREST: Bool
        /// Servers have it from 7 on: those of version 6 have key pairs, but not this.
        package var hasRESTVersion2: Bool
        /// False: the password is needed in each session, and asking for a key pair is answered with nothing.
        package var hasKeystore = true
        /// Bytes of one uploaded file that PHP takes (`upload_max_filesize`); nil is any number. The registry tells it.
        /// PHP's own default is 2 MB, which most administrators raise.
        package var uploadLimit: Int? = 2 << 20
        /// Whether the registry tells the limit.
        package var tellsUploadLimit = true
        /// Bytes of a whole request that PHP takes (`post_max_size`): of a larger one nothing arrives.
        /// PHP's own default.
        package var postLimit: Int? = 8 << 20
        /// With PHP's output buffering, files of fewer bytes are announced as empty, unless a range of them is asked for.
        package var bufferSize = 0
        /// Those that are on.
        package var plugins = Set(FakePydioPlugin.allCases)
        /// Whether the index for searches is still being made.
        package var isIndexing = false
        /// Users and workspaces of a page of the lists for administrators.
        package var administrationPageSize = 50
        /// Sub-actions for administrators that the server does not have.
        package var missingSubActions: Set<String> = []
        /// False: no login outlives its session, whatever a client wants.
        package var remembersLogins = true
        /// False: where users cannot change their passwords, there is no action for it.
        package var letsChangePasswords = true
        /// Of a new password.
        package var minimumPasswordLength = 8
        /// False: a newer server that does not find how a node is shared.
        package var findsShares = true
        /// False, as of version 5.2.5: a link is only described as the `repository` that was made for it.
        package var describesMinisites = true
        /// Requests remembered.
        package var historyLimit = 100_000

        package init(
            mode: FakePydioMode = .v5_2, users: [FakePydioUser] = FakePydioUser.defaults,
            workspaces: [FakePydioWorkspace] = FakePydioWorkspace.defaults
        ) {
            (self.mode, self.users, self.workspaces) = (mode, users, workspaces)
            seedForm = .clear
            (hasREST, hasRESTVersion2) = (mode == .v8, mode == .v8)
        }

        /// An older server that wants passwords hashed, as an administrator can choose.
        package static var withHashedPasswords: Configuration {
            var configuration = Configuration()
            configuration.seedForm = .text
            return configuration
        }
    }

    /// What `get_seed` answers as long as no captcha is due.
    package enum SeedForm: Sendable {
        /// 32 hexadecimal digits.
        case text
        /// -1: the password is to be sent in the clear.
        case clear
        /// A JSON document without `captcha`.
        case json
    }
}

/// What an administrator of a ``FakePydioServer`` can turn off, or what some kinds of workspaces lack: its actions are then
/// unknown.
package enum FakePydioPlugin: String, Sendable, CaseIterable {
    case search, hashes, crossCopy, archives, permissions, purge, metadata, comments, locks, quota, watches, feed
}

/// Somebody who may log in to a ``FakePydioServer``.
package struct FakePydioUser: Sendable {
    package enum Condition: Sendable {
        case normal
        /// Sees no workspace before the password has been changed.
        case mustChangePassword
        /// -3: is logged in, and out again at once.
        case withoutWorkspace
        /// -1, whatever the password.
        case lockedOut
    }

    package struct Rights: OptionSet, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) { self.rawValue = rawValue }

        package static let read = Rights(rawValue: 1)
        package static let write = Rights(rawValue: 2)
        package static let all: Rights = [.read, .write]
    }

    /// Lower-case.
    package var id: String
    /// MD5, all that the server has of the password.
    var passwordDigest: String
    /// By the workspaces' ids; those that are not in it are not the user's. Nil is all rights in all.
    package var rights: [String: Rights]?
    package var condition: Condition
    package var isAdministrator: Bool
    package var roles: [String] = []
    /// Of the groups that the user is in; empty is none.
    package var group: String
    /// Who made the user, to share with.
    package var parent: String?

    package init(
        id: String, password: String, rights: [String: Rights]? = nil, condition: Condition = .normal,
        isAdministrator: Bool = false, group: String = "", parent: String? = nil
    ) {
        (self.id, self.rights, self.condition) = (id, rights, condition)
        (self.isAdministrator, self.group, self.parent) = (isAdministrator, group, parent)
        passwordDigest = Digest.md5(password)
    }

    /// Whether that is what a client sends which knows the password.
    func isProved(by sent: String?, seed: String) -> Bool {
        guard let sent else { return false }
        return seed == "-1" ? Digest.md5(sent) == passwordDigest : sent == Digest.md5(passwordDigest + seed)
    }

    package func rights(in workspace: String) -> Rights? { rights.map { $0[workspace] } ?? .all }

    /// `ada` with "open sesame" may do everything, `bob` with "pässwörd" can only read "Plans" (0).
    package static let defaults = [
        FakePydioUser(id: "ada", password: "open sesame"),
        FakePydioUser(
            id: "bob", password: "pässwörd", rights: ["0": .read, FakePydioWorkspace.teamID: .all, "1": .all]),
    ]
}

/// A workspace of a ``FakePydioServer``.
package struct FakePydioWorkspace: Sendable {
    package var id: String
    package var slug: String
    package var label: String
    package var description: String?
    /// Who shares it.
    package var owner: String?
    /// Those that begin with `ajxp_` are pages of the server.
    package var accessType = "fs"
    /// Each user has files of one's own in it.
    package var isPerUser = false
    package var hasRecycleBin = true
    /// Bytes of all files; uploads beyond are refused.
    package var quota: Int?

    package init(
        id: String, slug: String, label: String, description: String? = nil, owner: String? = nil,
        accessType: String = "fs", isPerUser: Bool = false, hasRecycleBin: Bool = true, quota: Int? = nil
    ) {
        (self.id, self.slug, self.label, self.description, self.owner) = (id, slug, label, description, owner)
        (self.accessType, self.isPerUser, self.hasRecycleBin) = (accessType, isPerUser, hasRecycleBin)
        self.quota = quota
    }

    /// The page for administrators, which only they have.
    static let console = FakePydioWorkspace(
        id: "ajxp_conf", slug: "settings", label: "Settings", accessType: "ajxp_conf", hasRecycleBin: false)

    package static let teamID = "6f0c1d2e3a4b5c6d7e8f901234567890"

    /// "Plans" (0), "My Files" (1, each user's own), "Team" with an id of 32 digits, and a page of the server. All are empty.
    package static let defaults = [
        FakePydioWorkspace(id: "0", slug: "plans", label: "Plans", description: "Drawings & notes"),
        FakePydioWorkspace(id: "1", slug: "my-files", label: "My Files", isPerUser: true),
        FakePydioWorkspace(id: teamID, slug: "team", label: "Team", owner: "Ada", hasRecycleBin: false),
        FakePydioWorkspace(
            id: "ajxp_user", slug: "my-dashboard", label: "Dashboard", accessType: "ajxp_user", hasRecycleBin: false),
    ]
}
