/// What somebody did at the keyboard of a terminal.
enum Key: Hashable, Sendable {
    case text(String)
    /// What was pasted at once, line breaks included.
    case paste(String)
    case enter
    case tab
    case escape
    case backspace
    case delete
    case left
    case right
    case up
    case down
    case home
    case end
    /// With a small letter.
    case control(Character)
    /// With a small letter.
    case alt(Character)
    /// A key that means nothing here.
    case other
}
