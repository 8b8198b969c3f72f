import Basics
import CommandKit
import Foundation
import PydioSDK

/// Lets one command at a time log in to an account. The others then continue with its session.
final class AccountTurns: LoginTurns {
    /// A login takes a few requests of at most one minute each.
    private static let patience: Duration = .seconds(200)
    /// Longer than most logins take.
    private static let silence: Duration = .seconds(5)
    private static let longestPause: Duration = .milliseconds(250)

    private struct State {
        /// The login in the file, as far as this process knows.
        var login: PydioLogin
        var lock: FileLock?
    }

    private let state: Lock<State>
    /// Locked while the file is changed, because the end of a turn may still be writing when the command continues. It
    /// counts the changes because ThreadSanitizer mistakes an empty state for the lock itself.
    private let renewals = Lock(0)

    init(_ login: PydioLogin) { state = Lock(State(login: login)) }

    /// The login known to be in the file.
    var login: PydioLogin { state.withLock { $0.login } }

    func begin() async -> LoginTurn {
        let hasWaited = await lock()
        let known = login
        guard let kept = try? PydioLoginFile().login(known.server.absoluteString), kept.isOfSameAccount(as: known),
            kept != known
        else { return LoginTurn(session: nil, hasWaited: hasWaited) }
        state.withLock { $0.login = kept }
        return LoginTurn(session: kept.session, hasWaited: hasWaited)
    }

    func end(_ session: KeptSession) {
        keep(session)
        state.withLock { $0.lock = nil }
    }

    /// Writes a changed session for the next command.
    func keep(_ session: KeptSession) {
        renew {
            $0.take(session)
            if $0.keyPair != nil { $0.password = nil }
        }
    }

    /// Writes a changed password, if it is stored at all.
    func keepPassword(_ password: String) {
        renew { if $0.password != nil { $0.password = password } }
    }

    private func renew(_ change: (inout PydioLogin) -> Void) {
        renewals.withLock { count in
            count += 1
            renewAlone(change)
        }
    }

    private func renewAlone(_ change: (inout PydioLogin) -> Void) {
        let old = login
        var new = old
        change(&new)
        guard new != old else { return }
        do {
            try PydioLoginFile().renew(old, as: new)
            state.withLock { $0.login = new }
        } catch {
            StandardError.write("warning: the session is not saved for the next command: \(error)")
        }
    }

    /// Locks the login. Without a lock the login continues: at worst the server refuses it.
    ///
    /// - Returns: Whether another process had the lock.
    private func lock() async -> Bool {
        guard let path = try? lockFile() else { return false }
        var (lock, hasWaited): (FileLock?, Bool)
        do throws(FileLock.Failure) {
            (lock, hasWaited) = (try FileLock(file: path), false)
        } catch {
            guard case .held = error else { return false }
            StatusLine.explainWait("another command is logging in as \(login.user)")
            (lock, hasWaited) = (await lockWhenFree(path, error.owner), true)
            StatusLine.explainWait(nil)
        }
        // Not earlier: a turn of this process may still be ending, and would release this lock.
        state.withLock { $0.lock = lock }
        return hasWaited
    }

    /// Returns `nil` if the other process holds the lock longer than a login can take, for example because it is
    /// stopped.
    private func lockWhenFree(_ path: String, _ owner: String) async -> FileLock? {
        let start = ContinuousClock.now
        var pause = Duration.milliseconds(20)
        var isTold = false
        while true {
            if let lock = try? FileLock(file: path) { return lock }
            let waited = ContinuousClock.now - start
            guard waited < Self.patience, !Task.isCancelled else { return nil }
            if waited > Self.silence, !isTold {
                isTold = true
                StandardError.write(
                    """
                    warning: waiting for another command (\(owner)), which is logging in as \(login.user); going on \
                    without it after \(Self.patience.components.seconds) s
                    """)
            }
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, Self.longestPause)
        }
    }

    private func lockFile() throws(CommandFailure) -> String {
        let store = PydioLoginFile().store
        try store.makeFolder()
        let account = "\(login.server.absoluteString)\0\(login.user)"
        let name = Array(Digest.sha256(Array(account.utf8)).prefix(8)).hexadecimal
        return store.folder.appending(path: "pydio-\(name).lock").path
    }
}
