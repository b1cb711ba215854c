# The mixed logistic regression of the paper (Appendix A.5), fitted by lme4; called by regression.py.
#
# glmer's second stage searches theta and all coefficients together with a general optimiser that knows nothing about their scales:
# on 175 thousand rows (20 models, 18 coefficients) it needs 1,667 evaluations and nine minutes of a core. Here the first stage
# (nAGQ = 0) also gives the coefficients' approximate covariance; the second stage searches the same Laplace deviance in coordinates
# whitened by it, where one unit is one standard error in every direction: 418 evaluations, half of them for the standard
# errors, two minutes, and the same coefficients to 1e-4.

suppressPackageStartupMessages(library(lme4))

# terms: random effects in lme4's notation, of columns of x and of groups; is_optional: which of them a reduction may drop.
worldprobe_fit <- function(y, x, groups, terms, is_optional, method) {
  messages <- character()
  note <- function(condition) messages <<- c(messages, conditionMessage(condition))
  run <- function() {
    rows <- data.frame(y = y, x, lapply(groups, factor))
    fixed <- paste("y ~ 0 +", paste(colnames(x), collapse = " + "))
    if (any(is_optional)) return(fit_reduced(fixed, terms, is_optional, rows, ncol(x), method))
    formula <- as.formula(paste(c(fixed, terms), collapse = " + "))
    if (method == "plain") fit_plain(formula, rows) else fit_whitened(formula, rows)
  }
  fitted <- withCallingHandlers(
    tryCatch(run(), error = function(e) failed(conditionMessage(e), ncol(x))),
    warning = function(w) { note(w); invokeRestart("muffleWarning") },
    message = function(m) { note(m); invokeRestart("muffleMessage") }
  )
  fitted$messages <- unique(c(messages, fitted$messages))
  fitted
}

failed <- function(message, n_terms) {
  list(
    estimate = rep(NA_real_, n_terms), std_error = rep(NA_real_, n_terms), df = rep(NA_real_, n_terms), theta = numeric(), groups = character(),
    deviance = NA_real_, evaluations = 0, gradient = NA_real_, messages = paste("the fit failed to converge, R stopped:", message)
  )
}

# Random effects as they are written in a formula, without blanks: "1|item", "0+x16|model".
names_of <- function(effects) {
  paste0(ifelse(unlist(effects) == "(Intercept)", "1", paste0("0+", unlist(effects))), "|", sub("[.][0-9]+$", "", names(effects)))
}

fit_plain <- function(formula, rows) {
  control <- lme4::glmerControl(optimizer = "bobyqa", optCtrl = list(maxfun = 2e5))
  fitted <- lme4::glmer(formula, data = rows, family = binomial, control = control)
  summarized <- coef(summary(fitted))
  list(
    estimate = summarized[, "Estimate"], std_error = summarized[, "Std. Error"],
    df = rep(NA_real_, nrow(summarized)), theta = fitted@theta, groups = names_of(lme4::getME(fitted, "cnms")),
    deviance = -2 * as.numeric(logLik(fitted)), evaluations = fitted@optinfo$feval, gradient = NA_real_,
    messages = as.character(unlist(fitted@optinfo$conv$lme4$messages))
  )
}

fit_whitened <- function(formula, rows) {
  parsed <- lme4::glFormula(formula, data = rows, family = binomial)
  deviance <- do.call(lme4::mkGlmerDevfun, parsed)
  first <- lme4::optimizeGlmer(deviance, optimizer = "bobyqa")
  inner <- environment(deviance)
  theta <- first$par
  beta <- inner$pp$beta(1)
  n_theta <- length(theta)
  spread <- t(chol(chol2inv(inner$pp$RX())))
  deviance <- lme4::updateGlmerDevfun(deviance, parsed$reTrms)

  evaluations <- 0
  theta_unit <- pmax(0.05 * theta, 0.01)
  place <- function(steps) {
    c(pmax(theta + steps[seq_len(n_theta)] * theta_unit, 0), beta + as.vector(spread %*% steps[-seq_len(n_theta)]))
  }
  objective <- function(steps) {
    evaluations <<- evaluations + 1
    deviance(place(steps))
  }
  lower <- c(-theta / theta_unit, rep(-Inf, length(beta)))
  second <- minqa::bobyqa(
    rep(0, length(lower)), objective, lower = lower, control = list(rhobeg = 0.5, rhoend = 1e-2, maxfun = 10000)
  )
  messages <- if (second$ierr != 0) second$msg else character()
  for (i in which(place(second$par)[seq_len(n_theta)] < no_variance)) { # at_boundary, in steps
    reached <- objective(replace(second$par, i, lower[i]))
    if (reached <= second$fval + no_worse) second[c("par", "fval")] <- list(replace(second$par, i, lower[i]), reached)
  }

  # Standard errors come from the curvature at the optimum, as summary() takes them; the same curvature gives Newton steps that end
  # the search. A variance at its bound of zero stays there.
  free <- c(place(second$par)[seq_len(n_theta)] > 1e-4, rep(TRUE, length(beta)))
  whole <- function(steps) replace(second$par, free, steps)
  along <- function(steps) objective(whole(steps))
  at <- second$par[free]
  curvature <- list(gradient = slope(along, at), hessian = bend(along, at))
  lowest <- second$fval
  for (round in 1:3) {
    step <- tryCatch(-solve(curvature$hessian, curvature$gradient), error = function(e) NULL)
    if (is.null(step) || max(abs(curvature$gradient)) < 1e-3) break
    reached <- along(at + step)
    if (!is.finite(reached) || reached > lowest) break
    at <- at + step
    lowest <- reached
    curvature$gradient <- slope(along, at)
  }
  best <- place(whole(at))
  jacobian <- rbind(
    cbind(diag(theta_unit, n_theta), matrix(0, n_theta, length(beta))),
    cbind(matrix(0, length(beta), n_theta), spread)
  )[free, free, drop = FALSE]
  inverse <- solve(jacobian)
  gradient <- as.vector(t(inverse) %*% curvature$gradient)
  hessian <- t(inverse) %*% curvature$hessian %*% inverse
  checked <- lme4::checkConv(
    list(gradient = gradient, Hessian = hessian), best[free], lme4::glmerControl()$checkConv,
    lbound = c(rep(0, sum(free[seq_len(n_theta)])), rep(-Inf, length(beta)))
  )
  messages <- c(messages, as.character(unlist(checked$messages)))
  if (any(best[seq_len(n_theta)] <= 1e-4)) messages <- c(messages, "boundary (singular) fit: see help('isSingular')")
  covariance <- tryCatch(2 * solve(hessian), error = function(e) NULL)
  last <- seq(to = sum(free), length.out = length(beta))
  std_error <- if (is.null(covariance)) rep(NA_real_, length(beta)) else sqrt(pmax(diag(covariance)[last], 0))
  if (any(!is.finite(std_error)) || any(std_error == 0)) {
    std_error <- rep(NA_real_, length(beta))
    messages <- c(messages, "failed to converge: the curvature at the optimum is not that of a minimum")
  }
  list(
    estimate = best[-seq_len(n_theta)], std_error = std_error, theta = best[seq_len(n_theta)],
    df = rep(NA_real_, length(beta)), groups = names_of(parsed$reTrms$cnms), deviance = lowest, evaluations = evaluations,
    gradient = max(abs(curvature$gradient)) / 2, messages = messages
  )
}

# Many random effects, reduced to those that the rows support (Bates et al. 2015; Matuschek et al. 2017). Slopes are uncorrelated from
# the start. Optional effects without variance go, which changes no coefficient; while the search does not converge, the one with the
# least variance goes.
fit_reduced <- function(fixed, terms, is_optional, rows, n_terms, method) {
  dropped <- character()
  start <- NULL
  repeat {
    formula <- as.formula(paste(c(fixed, terms), collapse = " + "))
    fitted <- if (method == "plain") fit_plain(formula, rows) else fit_slopes(formula, rows, start)
    place <- match(gsub("[() ]", "", terms), fitted$groups)
    fitted$theta <- fitted$theta[place]
    fitted$groups <- terms
    goes <- is_optional & fitted$theta < no_variance
    start <- if (any(goes)) setNames(fitted$theta, gsub("[() ]", "", terms)) # without them the maximum is where it was
    if (!any(goes) && any(is_optional) && any(grepl("converge", fitted$messages))) {
      goes <- seq_along(terms) == which(is_optional)[which.min(fitted$theta[is_optional])]
    }
    if (!any(goes)) return(c(fitted, list(dropped = dropped)))
    dropped <- c(dropped, terms[goes])
    terms <- terms[!goes]
    is_optional <- is_optional[!goes]
  }
}

# A standard deviation below this, in log odds, is none: the first stage's search ends with steps of 0.002.
no_variance <- 0.005
# By so much a deviance may rise if such a standard deviation is set to zero.
no_worse <- 1e-6

# Standard deviations next to zero are zero where that is no worse, as lme4's check of the boundary has it: the fit is singular.
at_boundary <- function(theta, rest, deviance, lowest) {
  for (i in which(theta > 0 & theta < no_variance)) {
    if (deviance(c(replace(theta, i, 0), rest)) <= lowest + no_worse) theta[i] <- 0
  }
  theta
}

# As fit_whitened, for ten or twelve random effects: there, a quadratic model of the deviance is what takes evaluations. In whitened
# coordinates the coefficients' part of it is known (two times the identity), so that a few quasi-Newton steps end the search.
# start: standard deviations by name where the first stage's are known.
fit_slopes <- function(formula, rows, start = NULL) {
  parsed <- lme4::glFormula(formula, data = rows, family = binomial)
  deviance <- do.call(lme4::mkGlmerDevfun, parsed)
  # Far from the optimum lme4's inner loop can end in NaN: such a place is no minimum, and no reason to stop the search.
  somewhere <- function(place) tryCatch(deviance(place), error = function(e) 1e10)
  inner <- environment(deviance)
  n_theta <- length(parsed$reTrms$theta)
  evaluations <- 0
  groups <- names_of(parsed$reTrms$cnms)
  theta <- if (is.null(start)) {
    minqa::bobyqa(
      rep(0.3, n_theta), function(theta) { evaluations <<- evaluations + 1; somewhere(theta) },
      lower = rep(0, n_theta), control = list(rhobeg = 0.15, rhoend = 2e-3, maxfun = 2000)
    )$par
  } else start[groups]
  theta[theta < no_variance] <- 0 # the boundary itself, as lme4 reports it: the fit is singular
  lowest <- deviance(theta)
  beta <- inner$pp$beta(1)
  spread <- t(chol(chol2inv(inner$pp$RX())))
  found <- list(
    estimate = beta, std_error = rep(NA_real_, length(beta)), df = rep(NA_real_, length(beta)), theta = theta, groups = groups,
    deviance = lowest, evaluations = evaluations, gradient = NA_real_, messages = character()
  )
  moves <- which(theta >= no_variance)
  is_needed <- grepl("^1[|](item|model)$", groups)
  if (any(theta < no_variance & !is_needed)) return(found)  # reduced first: the second stage takes most of the time

  deviance <- lme4::updateGlmerDevfun(deviance, parsed$reTrms)
  unit <- 0.05 * theta[moves]
  n_moves <- length(moves)
  n <- n_moves + length(beta)
  thetas <- function(steps) replace(theta, moves, abs(theta[moves] + steps * unit))
  place <- function(steps) c(thetas(steps[seq_len(n_moves)]), beta + as.vector(spread %*% steps[seq(to = n, length.out = length(beta))]))
  objective <- function(steps) {
    evaluations <<- evaluations + 1
    somewhere(place(steps))
  }
  h <- 0.1
  at <- rep(0, n)
  lowest <- objective(at)
  up <- vapply(seq_len(n), function(i) objective(shifted(at, i, h)), 0)
  down <- vapply(seq_len(n), function(i) objective(shifted(at, i, -h)), 0)
  gradient <- (up - down) / (2 * h)
  second <- pmax((up - 2 * lowest + down) / h^2, 1e-6)
  hessian <- diag(second, n)
  for (i in seq_len(n_moves)[-1]) {
    for (j in seq_len(i - 1)) {
      both <- objective(shifted(shifted(at, i, h), j, h))
      hessian[i, j] <- hessian[j, i] <- (both - up[i] - up[j] + lowest) / h^2
    }
  }
  of_theta <- hessian[seq_len(n_moves), seq_len(n_moves), drop = FALSE]
  near <- 0.03
  for (round in 1:10) {
    step <- tryCatch(-solve(hessian, gradient), error = function(e) NULL)
    if (is.null(step) || max(abs(gradient)) < 5e-4) break
    reached <- objective(at + step)
    while (!is.finite(reached) || reached > lowest + 1e-7) {
      step <- step / 2
      if (max(abs(step)) < 1e-4) break
      reached <- objective(at + step)
    }
    if (!is.finite(reached) || reached > lowest + 1e-7) break
    at <- at + step
    lowest <- reached
    now <- vapply(seq_len(n), function(i) (objective(shifted(at, i, near)) - reached) / near - near * second[i] / 2, 0)
    change <- now - gradient
    gradient <- now
    if (sum(step * change) > 0) {
      along <- as.vector(hessian %*% step)
      hessian <- hessian + outer(change, change) / sum(change * step) - outer(along, along) / sum(step * along)
    }
  }
  best <- place(at)
  found$estimate <- best[-seq_len(n_theta)]
  found$theta <- at_boundary(best[seq_len(n_theta)], found$estimate, somewhere, lowest)
  found$deviance <- lowest
  found$gradient <- max(abs(gradient)) / 2
  if (found$gradient > 5e-3) found$messages <- "failed to converge: the search ended on a slope"

  # Tests with few models, pairs of concepts or versions: degrees of freedom by Satterthwaite (1946) from the covariance of the
  # standard deviations. These are of maximum likelihood, so too small: standard errors are those one Newton step towards restricted
  # likelihood. Degrees of freedom at maximum likelihood are n where n - 1 are free, and so is the ratio of the two variances.
  covariance_at <- function(steps) {
    steps <- c(steps, at[-seq_len(n_moves)])
    objective(steps)
    list(diagonal = diag(chol2inv(inner$pp$RX())), log_det = 2 * sum(log(abs(diag(inner$pp$RX())))))
  }
  # Where no standard deviation can move, or their covariance is not known, standard errors are lme4's, of the coefficients alone.
  here <- at[seq_len(n_moves)]
  found$std_error <- sqrt(covariance_at(here)$diagonal)
  if (n_moves > 0) {
    ends <- lapply(seq_len(n_moves), function(i) lapply(c(1, -1), function(side) covariance_at(shifted(here, i, side))))
    slope_of <- function(name) sapply(ends, function(end) (end[[1]][[name]] - end[[2]][[name]]) / 2)
    inverse <- tryCatch(solve(of_theta), error = function(e) NULL)
    if (!is.null(inverse) && all(diag(inverse) > 0)) {
      slopes <- matrix(slope_of("diagonal"), nrow = length(beta))
      likely <- covariance_at(here)$diagonal
      restricted <- covariance_at(here - as.vector(inverse %*% slope_of("log_det")))$diagonal
      spread_of <- rowSums((slopes %*% (2 * inverse)) * slopes)
      found$std_error <- sqrt(restricted)
      found$df <- pmax(2 * likely^3 / (restricted * pmax(spread_of, 1e-300)), 1)
    }
  }
  if (any(!is.finite(found$std_error))) {
    found$messages <- c(found$messages, "failed to converge: the curvature at the optimum is not that of a minimum")
  }
  found$evaluations <- evaluations
  found
}

# Gradient and Hessian by differences of a tenth of a standard error.
shifted <- function(at, i, by) {
  at[i] <- at[i] + by
  at
}

slope <- function(f, at, h = 0.1) {
  vapply(seq_along(at), function(i) (f(shifted(at, i, h)) - f(shifted(at, i, -h))) / (2 * h), 0)
}

bend <- function(f, at, h = 0.1) {
  n <- length(at)
  centre <- f(at)
  up <- vapply(seq_len(n), function(i) f(shifted(at, i, h)), 0)
  hessian <- diag(0, n)
  for (i in seq_len(n)) {
    for (j in seq_len(i)) {
      both <- if (i == j) f(shifted(at, i, -h)) else f(shifted(shifted(at, i, h), j, h))
      hessian[i, j] <- hessian[j, i] <- if (i == j) (up[i] - 2 * centre + both) / h^2 else (both - up[i] - up[j] + centre) / h^2
    }
  }
  hessian
}
