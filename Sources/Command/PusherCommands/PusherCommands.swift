package import ArgumentParser

/// The commands for channels and signatures, and those that need all protocols.
package let pusherCommands: [any ParsableCommand.Type] = [
    DemoCommand.self, ServeCommand.self, SubscribeCommand.self, ListenCommand.self, TriggerCommand.self,
    ClientEventCommand.self, ShellCommand.self, ChannelsCommand.self, ChannelCommand.self, UsersCommand.self,
    TerminateCommand.self, AuthCommand.self, AuthServerCommand.self, WebhookCommand.self, EncryptCommand.self,
    DecryptCommand.self, DoctorCommand.self, BenchCommand.self, ContextCommand.self,
]
