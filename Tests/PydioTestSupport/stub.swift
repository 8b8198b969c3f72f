extension ServerState {
    mutating func publish(_ events: [TreeEvent], _ call: Call) {}
    mutating func publishBookmarks(_ call: Call) {}
    mutating func channelAnswer(_ action: Action, _ call: Call) -> FakePydioAnswer { .empty }
    mutating func changesAnswer(_ call: Call) -> FakePydioAnswer { .empty }
    mutating func keystoreAnswer(_ action: Action, _ call: Call) -> FakePydioAnswer { .empty }
}
