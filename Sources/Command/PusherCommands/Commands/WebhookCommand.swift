import ArgumentParser

struct WebhookCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhook", abstract: "Check webhooks that the server sent to the application.",
        discussion: """
            Example:
              pusher-cli webhook verify body.json --signature c19001ae…
            """,
        subcommands: [WebhookVerifyCommand.self])
}
