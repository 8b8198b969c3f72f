// A Pydio server for tests and demonstrations, as a process:
//
//     pydio-mock [--host ADDRESS] [--port P] [--path /pydio] [--mode 5.2|8] [--user name:password]… [--journal FILE]
//                [--captcha-code C] [--captcha-after N] [--no-changes] [--no-polling] [--websocket]
//                [--hashed-passwords]
//                [--upload-limit BYTES]
//
// Prints `listening on ADDRESS:P`, and on standard error the text of each captcha image; ends at SIGTERM or SIGINT.
// Without `--user` the users are `ada` with "open sesame" and `bob` with "pässwörd". With `--journal`, a restarted
// server has the same nodes and numbers of changes, but not the contents of files.
import Glibc
import PydioTestSupport

@main
struct PydioMock {
    /// Not async: all other threads inherit this thread's signal mask, and it waits for the signals itself.
    static func main() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTERM)
        sigaddset(&signals, SIGINT)
        pthread_sigmask(SIG_BLOCK, &signals, nil)

        let configuration = configuration(CommandLine.arguments.dropFirst())
        // Detached: otherwise it would wait for this thread, which waits for the signals.
        Task.detached {
            do {
                let server = try await FakePydioServer.start(configuration)
                server.onCaptcha { complain("captcha code: \($0)") }
                print("listening on \(configuration.host):\(server.port)")
                fflush(nil)
            } catch {
                complain("pydio-mock: cannot listen on port \(configuration.port): \(error)")
                exit(EX_UNAVAILABLE)
            }
        }
        var signal: Int32 = 0
        sigwait(&signals, &signal)
    }

    private static func configuration(_ arguments: ArraySlice<String>) -> FakePydioServer.Configuration {
        var arguments = arguments
        var configuration = FakePydioServer.Configuration()
        if let index = arguments.firstIndex(of: "--mode") {
            guard let mode = arguments.dropFirst(index - arguments.startIndex + 1).first.flatMap(FakePydioMode.init)
            else {
                fail("--mode is 5.2 or 8")
            }
            configuration = FakePydioServer.Configuration(mode: mode)
        }
        var users: [FakePydioUser] = []
        while let option = arguments.popFirst() {
            switch option {
            case "--mode": _ = arguments.popFirst()
            case "--host": configuration.host = value(&arguments, option)
            case "--journal": configuration.journal = value(&arguments, option)
            case "--port": configuration.port = number(&arguments, option)
            case "--path": configuration.basePath = value(&arguments, option)
            case "--user":
                let pair = value(&arguments, option).split(separator: ":", maxSplits: 1)
                guard pair.count == 2 else { fail("--user wants name:password") }
                users.append(FakePydioUser(id: pair[0].lowercased(), password: String(pair[1])))
            case "--captcha-code": configuration.captchaCode = value(&arguments, option)
            case "--captcha-after": configuration.captchaAfter = number(&arguments, option)
            case "--no-changes": configuration.hasChanges = false
            case "--no-polling": configuration.hasPolling = false
            case "--websocket": configuration.hasWebSocket = true
            case "--hashed-passwords": configuration.seedForm = .text
            case "--upload-limit":
                let limit = number(&arguments, option)
                (configuration.uploadLimit, configuration.postLimit) = limit == 0 ? (nil, nil) : (limit, 4 * limit)
            case _: fail("there is no option \(option)")
            }
        }
        if !users.isEmpty { configuration.users = users }
        return configuration
    }

    private static func value(_ arguments: inout ArraySlice<String>, _ option: String) -> String {
        guard let value = arguments.popFirst() else { fail("\(option) wants a value") }
        return value
    }

    private static func number(_ arguments: inout ArraySlice<String>, _ option: String) -> Int {
        guard let number = Int(value(&arguments, option)), number >= 0 else { fail("\(option) wants a number") }
        return number
    }

    private static func fail(_ text: String) -> Never {
        complain("pydio-mock: \(text)")
        exit(EX_USAGE)
    }

    private static func complain(_ text: String) {
        let line = Array("\(text)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }
}
