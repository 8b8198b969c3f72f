import MatrixKit
public import MatrixSDK
public import TerminalUI

/// A screen, or a part of one: it draws itself, and takes keys.
@MainActor
open class MXKViewController {
    /// What it shows, for a title.
    public var title: String?
    /// The sessions that it shows something of.
    public private(set) var mxSessions: [MXSession] = []
    /// Called when it wants to be drawn again.
    public var onNeedsDisplay: (@MainActor () -> Void)?
    /// How parts look.
    public var theme = MXKTheme.dark { didSet { if theme != oldValue { setNeedsDisplay() } } }
    /// How wide the terminal shows characters.
    public var profile = WidthProfile.unicode { didSet { if profile != oldValue { setNeedsDisplay() } } }
    /// Whether something is being waited for.
    public private(set) var isBusy = false

    /// A screen that shows nothing yet.
    public init() {}

    /// Shows something of a session.
    open func addMatrixSession(_ mxSession: MXSession) {
        guard !mxSessions.contains(where: { $0 === mxSession }) else { return }
        mxSessions.append(mxSession)
    }

    /// Shows nothing of a session any more.
    open func removeMatrixSession(_ mxSession: MXSession) { mxSessions.removeAll { $0 === mxSession } }

    /// Shows that something is being waited for.
    open func startActivityIndicator() {
        isBusy = true
        setNeedsDisplay()
    }

    /// Shows it no more.
    open func stopActivityIndicator() {
        isBusy = false
        setNeedsDisplay()
    }

    /// A session is in another state.
    open func onMatrixSessionStateDidChange(_ mxSession: MXSession) { setNeedsDisplay() }

    /// Asks to be drawn again.
    public func setNeedsDisplay() { onNeedsDisplay?() }

    /// Draws it into a surface of this size.
    open func draw(columns: Int, rows: Int) -> TerminalSurface {
        TerminalSurface(TerminalSize(columns: columns, rows: rows))
    }

    /// Takes what was typed.
    ///
    /// - Returns: False if it means nothing here: then the program's own keys come next.
    open func handle(_ input: TerminalInput) -> Bool { false }

    /// Ends everything.
    open func destroy() {
        mxSessions = []
        onNeedsDisplay = nil
    }
}
