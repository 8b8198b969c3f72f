import ArgumentParser

@main
struct PusherCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "pusher-cli")
}
