import ArgumentParser
import CommandKit
import MatrixSDK

struct MatrixDevicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices", abstract: "List your devices, rename them, or log them out.",
        discussion: """
            Prints each device's name and id, and when and from which address it was last seen. The device of this \
            login comes first; to log it out, use pusher-cli matrix logout.

            If this login takes part in encryption, each line also says whether this device trusts the other one: verified, \
            not verified, blocked, no keys (it cannot read encrypted rooms), or keys changed, which is an alarm: log that \
            device out. pusher-cli matrix verify verifies one. The device of this login is verified if pusher-cli matrix \
            recovery status says so.

            Deleting a device logs it out. The homeserver requires your password for that, and the command asks for it \
            at the terminal.

            Examples:
              pusher-cli matrix devices
              pusher-cli matrix devices --rename ABCDEFGHIJ 'old phone'
              pusher-cli matrix devices --delete ABCDEFGHIJ KLMNOPQRST
            """)

    @OptionGroup var output: OutputOptions

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("Rename a device: its id, then its new name.", valueName: "id name"))
    var rename: [String] = []

    @Option(parsing: .upToNextOption, help: ArgumentHelp("Log these devices out.", valueName: "id"))
    var delete: [String] = []

    @Flag(help: "Read the password from standard input.")
    var passwordStdin = false

    @OptionGroup var network: NetworkArguments

    func validate() throws {
        guard rename.isEmpty || delete.isEmpty else {
            throw ValidationError("--rename and --delete cannot be used together.")
        }
        guard rename.isEmpty || rename.count == 2 else {
            throw ValidationError("--rename takes a device's id and its new name; quote a name of several words.")
        }
        guard !(rename + delete).contains("") else { throw ValidationError("Ids and names cannot be empty.") }
        guard !output.json || (rename + delete).isEmpty else {
            throw ValidationError("--json is only for listing devices.")
        }
        guard !passwordStdin || !delete.isEmpty else { throw ValidationError("--password-stdin needs --delete.") }
    }

    func run() async throws {
        let account = try network.matrixAccount()
        if let id = rename.first, let name = rename.last {
            return try await account.client.setDeviceName(name, forDevice: id)
        }
        let devices = try await account.client.devices()
        let current = try await currentDevice(account)
        guard delete.isEmpty else {
            try check(devices, current)
            return try await SignalWatch.finishing { try await logOut(account) }
        }
        let standings = try await standings(account)
        _ = output.write(
            devices.map { device in
                DeviceRecord(
                    device: device, isCurrent: device.deviceId == current,
                    standing: standings.map { $0[device.deviceId]?.rawValue ?? "no keys" })
            }.sorted())
    }

    /// Returns `nil` if they are unknown.
    private func standings(_ account: MatrixAccount) async throws -> [String: DeviceStanding]? {
        guard account.store.hasKeys else { return nil }
        do {
            return try await account.withRoomKeys { try await $0.ownDevices() }
        } catch let error as any ReportableError where error.exitStatus != .interrupted {
            StandardError.write("warning: nobody knows which of them are verified: \(Complaint.text(error))")
            return nil
        }
    }

    private func currentDevice(_ account: MatrixAccount) async throws -> String? {
        if let known = account.client.credentials?.deviceId { return known }
        return try await account.client.whoAmI().deviceId
    }

    /// Checks the ids, because servers do not report unknown ones.
    private func check(_ devices: [MXDevice], _ current: String?) throws(CommandFailure) {
        if let unknown = delete.first(where: { id in !devices.contains { $0.deviceId == id } }) {
            throw CommandFailure(
                .badData, "you have no device \(unknown): pusher-cli matrix devices lists them; nothing is deleted")
        }
        if let current, delete.contains(current) {
            throw CommandFailure(
                .badData,
                "\(current) is the device of this login: use pusher-cli matrix logout; nothing is deleted")
        }
    }

    private func logOut(_ account: MatrixAccount) async throws {
        _ = try await account.client.deleteDevices(delete)
            .completed(withPasswordOf: account.userID, orElse: "nothing is deleted") { () throws(CommandFailure) in
                try password(of: account.userID)
            }
    }

    private func password(of user: String) throws(CommandFailure) -> String {
        let password =
            passwordStdin
            ? try SecretInput.fromStandardInput("password") : try SecretInput.typed("Password of \(user): ")
        guard let password else { throw CommandFailure(.interrupted, "interrupted: nothing is deleted") }
        return password
    }
}
