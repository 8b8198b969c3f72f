import Foundation

/// The stack of a thread's signal handlers when its own stack is full.
enum AlternateStack {
    private static let size = 1 << 16

    /// Frees the memory when its thread ends.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key) { memory in
            var none = stack_t()
            none.ss_flags = Int32(SS_DISABLE)
            sigaltstack(&none, nil)
            free(memory)
        }
        return key
    }()

    /// Installs an alternate stack for the calling thread, unless it has one.
    static func install() {
        guard pthread_getspecific(key) == nil else { return }
        var present = stack_t()
        guard sigaltstack(nil, &present) == 0, present.ss_flags & Int32(SS_DISABLE) != 0 else { return }
        guard let memory = malloc(size) else { return }
        var new = stack_t()
        (new.ss_sp, new.ss_size) = (memory, size)
        guard sigaltstack(&new, nil) == 0, pthread_setspecific(key, memory) == 0 else { return free(memory) }
    }
}
