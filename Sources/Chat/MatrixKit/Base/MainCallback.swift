/// An application's closure, called on the main actor, where it was created.
///
/// `@unchecked Sendable`: only the main actor calls it.
struct MainCallback<Value>: @unchecked Sendable {
    private let call: (Value) -> Void

    @MainActor
    init(_ call: @escaping (Value) -> Void) { self.call = call }

    @MainActor
    func callAsFunction(_ value: Value) { call(value) }
}
