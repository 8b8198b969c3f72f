/// A closure of an application's, called on the main actor, where it was made.
///
/// `@unchecked Sendable`: nothing but the main actor calls it.
struct MainCallback<Value>: @unchecked Sendable {
    private let call: (Value) -> Void

    @MainActor
    init(_ call: @escaping (Value) -> Void) { self.call = call }

    @MainActor
    func callAsFunction(_ value: Value) { call(value) }
}
