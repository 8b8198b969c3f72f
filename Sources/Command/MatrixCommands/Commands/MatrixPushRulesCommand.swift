import ArgumentParser
import CommandKit
import MatrixProtocol
import MatrixSDK

struct MatrixPushRulesCommand: AsyncParsableCommand {
    enum Kind: String, CaseIterable, ExpressibleByArgument {
        case override, content, room, sender, underride
    }

    static let configuration = CommandConfiguration(
        commandName: "push-rules", abstract: "List what notifies you, switch rules on or off, or mute a room.",
        discussion: """
            Prints each rule's kind, its id, whether it is on, and what it does. The first enabled rule that matches \
            an event decides.

            Examples:
              pusher-cli matrix push-rules
              pusher-cli matrix push-rules --disable .m.rule.reaction
              pusher-cli matrix push-rules --mute '#lobby:example.org'
            """)

    @OptionGroup var output: OutputOptions

    @Option(help: ArgumentHelp("Switch a rule on.", valueName: "id"))
    var enable: String?

    @Option(help: ArgumentHelp("Switch a rule off.", valueName: "id"))
    var disable: String?

    @Option(help: "The rule's kind, with --enable or --disable, if two rules have the same id.")
    var kind: Kind?

    @Option(
        help: ArgumentHelp(
            "Mute a room, including mentions: its id, its alias or its name.", valueName: "room"))
    var mute: String?

    @Option(help: ArgumentHelp("Undo --mute for this room.", valueName: "room"))
    var unmute: String?

    @OptionGroup var network: NetworkArguments

    func validate() throws {
        let changes = [enable, disable, mute, unmute].compactMap(\.self)
        guard changes.count <= 1 else {
            throw ValidationError("Give only one of --enable, --disable, --mute and --unmute.")
        }
        guard !changes.contains("") else { throw ValidationError("A rule's id or a room cannot be empty.") }
        guard kind == nil || enable != nil || disable != nil else {
            throw ValidationError("--kind needs --enable or --disable.")
        }
        guard !output.json || changes.isEmpty else { throw ValidationError("--json is only for the list of rules.") }
    }

    func run() async throws {
        let account = try network.matrixAccount()
        if let room = mute ?? unmute {
            let roomID = try await RoomReference(room).roomID(for: account)
            return mute != nil
                ? try await account.client.muteRoom(roomID) : try await account.client.unmuteRoom(roomID)
        }
        let lists = PushRules(try await account.client.pushRules()).rules
        let rules = MXPushRule.Kind.allCases.flatMap { lists[$0] ?? [] }
        if let id = enable ?? disable {
            let rule = try rule(id, among: rules)
            return try await account.client.enablePushRule(
                kind: rule.kind.rawValue, ruleId: rule.ruleId, enabled: enable != nil)
        }
        _ = output.write(rules.map(PushRuleRecord.init))
    }

    private func rule(_ id: String, among rules: [MXPushRule]) throws(CommandFailure) -> MXPushRule {
        let found = rules.filter { $0.ruleId == id && (kind == nil || $0.kind.rawValue == kind?.rawValue) }
        guard let first = found.first else {
            throw CommandFailure(
                .badData,
                "there is no \(kind.map { "\($0.rawValue) " } ?? "")rule \(id): pusher-cli matrix push-rules lists them"
            )
        }
        guard found.count == 1 else {
            let kinds = found.map(\.kind.rawValue).joined(separator: ", ")
            throw CommandFailure(.badData, "\(found.count) rules are called \(id); give a --kind: \(kinds)")
        }
        return first
    }
}
