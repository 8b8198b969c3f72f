import MatrixKit
public import MatrixSDK
public import TerminalUI

/// A screen or part of one that draws itself and handles keys.
@MainActor
open class MXKViewController {
    /// A title for the contents.
    public var title: String?
    /// The sessions that it shows.
    public private(set) var mxSessions: [MXSession] = []
    /// Called to request a redraw.
    public var onNeedsDisplay: (@MainActor () -> Void)?
    /// The styles of the parts.
    public var theme = MXKTheme.dark { didSet { if theme != oldValue { setNeedsDisplay() } } }
    /// The character widths of the terminal.
    public var profile = WidthProfile.unicode { didSet { if profile != oldValue { setNeedsDisplay() } } }
    /// Whether the activity indicator is shown.
    public private(set) var isBusy = false

    /// Creates an empty screen.
    public init() {}

    /// Adds a session to the screen.
    open func addMatrixSession(_ mxSession: MXSession) {
        guard !mxSessions.contains(where: { $0 === mxSession }) else { return }
        mxSessions.append(mxSession)
    }

    /// Removes a session from the screen.
    open func removeMatrixSession(_ mxSession: MXSession) { mxSessions.removeAll { $0 === mxSession } }

    /// Shows the activity indicator.
    open func startActivityIndicator() {
        isBusy = true
        setNeedsDisplay()
    }

    /// Hides the activity indicator.
    open func stopActivityIndicator() {
        isBusy = false
        setNeedsDisplay()
    }

    /// Called when the state of a session has changed.
    open func onMatrixSessionStateDidChange(_ mxSession: MXSession) { setNeedsDisplay() }

    /// Requests a redraw.
    public func setNeedsDisplay() { onNeedsDisplay?() }

    /// Draws the screen into a surface of this size.
    open func draw(columns: Int, rows: Int) -> TerminalSurface {
        TerminalSurface(TerminalSize(columns: columns, rows: rows))
    }

    /// Handles a key.
    ///
    /// - Returns: False if the key has no meaning here, so that the program can handle it.
    open func handle(_ input: TerminalInput) -> Bool { false }

    /// Releases all resources.
    open func destroy() {
        mxSessions = []
        onNeedsDisplay = nil
    }
}
