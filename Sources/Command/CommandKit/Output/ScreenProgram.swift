import Basics
import Foundation
package import MatrixKitTerminal
package import TerminalUI

/// Runs a screen on the terminal, with input and output, until it ends.
@MainActor
package final class ScreenProgram {
    package let terminal: Terminal
    private let screen: MXKViewController
    private var isScheduled = false
    private var isOver = false
    private var lastDrawn = ContinuousClock.now - frame
    private static let frame = Duration.seconds(1) / Terminal.framesPerSecond
    private let theme: MXKTheme?

    /// - Parameter theme: The theme; `nil` matches the terminal's background.
    package init(_ screen: MXKViewController, theme: MXKTheme?, reportsMouse: Bool = false) {
        self.screen = screen
        self.theme = theme
        terminal = Terminal(modes: TerminalModes(reportsMouse: reportsMouse))
    }

    /// Whether there is a terminal to draw on.
    package static var isPossible: Bool { Terminal.isThere() }

    /// Ends ``run()``.
    package func quit() {
        isOver = true
        terminal.close()
    }

    package func run() async throws {
        StatusLine.end()
        screen.onNeedsDisplay = { [weak self] in self?.scheduleDrawing() }
        screen.theme = chosenTheme
        do throws(TerminalError) {
            try terminal.open()
        } catch {
            throw CommandFailure(.unavailable, error.description)
        }
        let signals = SignalWatch { [terminal] in terminal.close() }
        defer {
            signals.cancel()
            terminal.close()
        }
        draw()
        for await input in terminal.inputs {
            handle(input)
            if isOver { break }
        }
    }

    private func handle(_ input: TerminalInput) {
        terminal.protectThread()
        switch input {
        case .reply(.attributes):
            screen.profile = terminal.profile
            screen.theme = chosenTheme
            // The terminal query has left traces.
            terminal.repaint()
        case .reply: break
        case .resize: draw()
        case .control("z"): terminal.suspend()
        default: _ = screen.handle(input)
        }
    }

    private var chosenTheme: MXKTheme {
        if let theme { return theme }
        if Environment["NO_COLOR"] != nil { return .plain }
        return terminal.queries.hasLightBackground == true ? .light : .dark
    }

    /// Combines changes into one redraw, no more often than the terminal can show it.
    private func scheduleDrawing() {
        guard !isScheduled, !isOver else { return }
        isScheduled = true
        let due = lastDrawn + Self.frame
        Task { [weak self] in
            if due > .now { try? await Task.sleep(until: due) }
            guard let self else { return }
            self.isScheduled = false
            if !self.isOver { self.draw() }
        }
    }

    private func draw() {
        terminal.protectThread()
        lastDrawn = .now
        let size = terminal.size
        terminal.show(screen.draw(columns: size.columns, rows: size.rows))
        if let title = screen.title { terminal.setTitle(ScreenText.cleanedName(title)) }
    }
}
