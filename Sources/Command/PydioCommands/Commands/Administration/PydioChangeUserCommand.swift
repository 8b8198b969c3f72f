import ArgumentParser
import PydioSDK

struct PydioChangeUserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "change-user", abstract: "Change a user's password, roles, lock or administration.",
        discussion: """
            Changes what you name, one after the other; if something fails, it is reported, and the rest is still \
            changed. You cannot lock your own account or give up its administration.

            Examples:
              pusher-cli pydio admin change-user carol --password-stdin < password
              pusher-cli pydio admin change-user carol --lock
              pusher-cli pydio admin change-user carol --add-role SALES --no-admin
            """)

    @OptionGroup var name: PydioUserArgument

    @Flag(help: "Ask for a new password at the terminal, twice.")
    var password = false

    @Flag(help: "Read a new password from standard input.")
    var passwordStdin = false

    @Option(help: ArgumentHelp("Give the user this role. May be repeated.", valueName: "role"))
    var addRole: [String] = []

    @Option(help: ArgumentHelp("Take this role from the user. May be repeated.", valueName: "role"))
    var removeRole: [String] = []

    @Flag(inversion: .prefixedNo, help: "Make the user an administrator, or no longer one.")
    var admin: Bool?

    @Flag(help: "Keep the user from logging in.")
    var lock = false

    @Flag(help: "Let the user log in again.")
    var unlock = false

    @Flag(help: "Print a JSON object.")
    var json = false

    @OptionGroup var pydio: PydioOptions

    func validate() throws {
        guard !(password && passwordStdin) else {
            throw ValidationError("Use either --password or --password-stdin.")
        }
        guard !(lock && unlock) else { throw ValidationError("Use either --lock or --unlock.") }
        guard Set(addRole).isDisjoint(with: removeRole) else {
            throw ValidationError("The same role cannot be added and removed.")
        }
        guard !(addRole + removeRole).contains("") else { throw ValidationError("A role's name cannot be empty.") }
        guard
            password || passwordStdin || !addRole.isEmpty || !removeRole.isEmpty || admin != nil || lock || unlock
        else { throw ValidationError("Say what to change: --password, --add-role, --admin, --lock.") }
    }

    func run() async throws {
        try await pydio.run { account in
            let (user, client) = (name.user, account.client)
            var option = NewPasswordOption()
            option.passwordStdin = passwordStdin
            let new = password || passwordStdin ? try option.password(of: user) : nil
            let report = TransferReport(json: json)
            if let new {
                try await report.trying("password") { try await client.setPassword(new, ofUser: user) }
            }
            for role in addRole {
                try await report.trying("role \(role)") { try await client.setRole(role, true, user: user) }
            }
            for role in removeRole {
                try await report.trying("role \(role)") { try await client.setRole(role, false, user: user) }
            }
            if let admin {
                try await report.trying("administration") { try await client.setAdministrator(admin, user: user) }
            }
            if lock || unlock {
                try await report.trying("lock") { try await client.setLocked(lock, user: user) }
            }
            try report.end()
            AdministrationRecord(kind: .userChanged, id: user).write(json: json)
        }
    }
}
