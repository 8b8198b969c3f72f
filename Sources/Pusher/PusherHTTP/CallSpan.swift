import Transport

#if DistributedTracingSupport
    import Tracing

    /// A client span for a call of the HTTP API, named by OpenTelemetry's semantic conventions for HTTP. The span's
    /// context goes to the server in header fields. The span holds no names of channels or users, and nothing from a
    /// body.
    struct CallSpan {
        private let span: any Tracing.Span

        /// - Parameter call: The path after the application's id.
        init(method: String, call: String, host: String) {
            let template = "/apps/{app_id}/" + Self.template(of: call)
            span = startSpan("\(method) \(template)", ofKind: .client)
            span.updateAttributes { attributes in
                attributes["http.request.method"] = method
                attributes["url.template"] = template
                attributes["server.address"] = host
            }
        }

        func inject(into fields: inout HTTPFields) {
            InstrumentationSystem.instrument.inject(span.context, into: &fields, using: FieldInjector())
        }

        func answered(status: Int) { span.attributes["http.response.status_code"] = status }

        func end(with failure: PusherHTTPError?) {
            if let failure {
                span.attributes["error.type"] = failure.kind.rawValue
                span.setStatus(SpanStatus(code: .error))
            }
            span.end()
        }

        private static func template(of call: String) -> String {
            var segments = call.split(separator: "/").map(String.init)
            if segments.count > 1 { segments[1] = segments[0] == "users" ? "{user}" : "{channel}" }
            return segments.joined(separator: "/")
        }
    }

    private struct FieldInjector: Injector {
        func inject(_ value: String, forKey key: String, into fields: inout HTTPFields) { fields[key] = value }
    }
#else
    /// A placeholder for the span when the package trait `DistributedTracingSupport` is off.
    struct CallSpan {
        init(method: String, call: String, host: String) {}
        func inject(into fields: inout HTTPFields) {}
        func answered(status: Int) {}
        func end(with failure: PusherHTTPError?) {}
    }
#endif
