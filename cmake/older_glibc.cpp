// What programs of today's headers take from a glibc that is newer than the one that the command of the wheel is linked
// with (scripts/wheel): glibc 2.32 and 2.33 brought these two.
#include <dlfcn.h>
#include <malloc.h>

extern "C" {

// libstdc++ leaves out atomic instructions where it is true.
extern char __libc_single_threaded;
char __libc_single_threaded = 0;

// That of the glibc at hand, or what mallinfo of an older one says, whose counts are 32 bits wide.
struct mallinfo2 mallinfo2() noexcept {
  using Function = struct mallinfo2 (*)();
  if (const auto newer = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "mallinfo2"))) return newer();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const struct mallinfo m = ::mallinfo();
#pragma GCC diagnostic pop
  struct mallinfo2 out {};
  out.uordblks = static_cast<unsigned>(m.uordblks);
  out.hblkhd = static_cast<unsigned>(m.hblkhd);
  return out;
}
}
